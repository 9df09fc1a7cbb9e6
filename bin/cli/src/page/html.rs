//! A page that is written element by element. Whatever comes from a database is text, and text is always escaped.

/// A page on its way.
#[derive(Debug, Default)]
pub(crate) struct Html {
    out: String,
}

/// An attribute and its value.
pub(crate) type Attribute<'a> = (&'a str, &'a str);

impl Html {
    /// Begins a page.
    pub(crate) fn page() -> Self {
        Self { out: "<!doctype html>\n".to_owned() }
    }

    /// An element of this name with what `inner` writes within it.
    pub(crate) fn element(
        &mut self,
        name: &'static str,
        attributes: &[Attribute<'_>],
        inner: impl FnOnce(&mut Self),
    ) -> &mut Self {
        self.begin(name, attributes);
        inner(self);
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
        // A line for each block, so that a page can be read and compared; within a line spaces would be seen.
        if matches!(
            name,
            "section" | "div" | "table" | "tr" | "svg" | "header" | "footer" | "p" | "h2" | "h3" | "li"
        ) {
            self.out.push('\n');
        }
        self
    }

    /// An element of this name that holds a text; of this class, unless that is empty.
    pub(crate) fn text_in(&mut self, name: &'static str, class: &str, text: &str) -> &mut Self {
        let classes = [("class", class)];
        self.element(name, if class.is_empty() { &[] } else { &classes }, |html| {
            html.text(text);
        })
    }

    /// An element that has no end and holds nothing.
    pub(crate) fn empty(&mut self, name: &'static str, attributes: &[Attribute<'_>]) -> &mut Self {
        self.begin(name, attributes);
        self
    }

    /// A text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        escape(text, &mut self.out);
        self
    }

    /// A style sheet of ours: the only thing that is written as it is.
    pub(crate) fn style(&mut self, sheet: &'static str) -> &mut Self {
        self.out.push_str("<style>\n");
        self.out.push_str(sheet);
        self.out.push_str("</style>\n");
        self
    }

    /// The page.
    pub(crate) fn finish(self) -> String {
        self.out
    }

    fn begin(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.out.push('<');
        self.out.push_str(name);
        for (attribute, value) in attributes {
            self.out.push(' ');
            self.out.push_str(attribute);
            self.out.push_str("=\"");
            escape(value, &mut self.out);
            self.out.push('"');
        }
        self.out.push('>');
    }
}

fn escape(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // A page cannot hold control characters; their pictures say what was there.
            '\n' | '\t' => out.push(letter),
            '\0'..='\x1f' => out.push(char::from_u32(0x2400 + u32::from(letter)).unwrap_or(' ')),
            '\x7f'..='\u{9f}' => out.push('␡'),
            // What turns the direction of a line could make it read as another one.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('�'),
            letter => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Html;

    #[test]
    fn text_and_attributes_are_escaped() {
        let hostile = "</p><script>alert('x')</script>\" onload=\"&\0\u{202e}";
        let mut html = Html::default();
        html.element("p", &[("title", hostile)], |html| {
            html.text(hostile);
        });
        let escaped = "&lt;/p&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot; onload=&quot;&amp;␀�";
        assert_eq!(html.finish(), format!("<p title=\"{escaped}\">{escaped}</p>\n"));
    }
}
