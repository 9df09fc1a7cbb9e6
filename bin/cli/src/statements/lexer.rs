//! The words of SQL, as far as one must know them to colour a text and to see where a statement ends.
//!
//! A text may be unfinished, or a later part of one: unlike the parser's, these words begin and end anywhere.

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A keyword or a name.
    Word,
    Number,
    /// In single quotes.
    Text,
    /// A name in other quotes.
    Name,
    Comment,
    Space,
    /// What ends a statement.
    Semicolon,
    Sign,
}

/// What is open where a text ends: what it needs to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    Quoted(char),
    Comment,
}

/// The words of a text, one after the other; together they are the text.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    rest: &'a str,
    open: Option<Open>,
}

impl<'a> Lexer<'a> {
    /// The words of a text that begins within what is open.
    pub(crate) fn new(text: &'a str, open: Option<Open>) -> Self {
        Self { rest: text, open }
    }

    /// The kind of the next word and its length.
    fn look(&mut self) -> Option<(Kind, usize)> {
        let text = self.rest;
        let mut letters = text.chars();
        let first = letters.next()?;
        let while_ = |keep: fn(char) -> bool| text.find(|letter| !keep(letter)).unwrap_or(text.len());
        Some(match (self.open.take(), first, letters.next()) {
            (Some(open), ..) => self.close(open, 0),
            (None, quote @ ('\'' | '"' | '`'), _) => self.close(Open::Quoted(quote), 1),
            (None, '/', Some('*')) => self.close(Open::Comment, 2),
            (None, '-', Some('-')) => (Kind::Comment, text.find('\n').unwrap_or(text.len())),
            (None, ';', _) => (Kind::Semicolon, 1),
            (None, first, _) if first.is_whitespace() => (Kind::Space, while_(char::is_whitespace)),
            (None, first, _) if first.is_ascii_digit() => {
                (Kind::Number, while_(|letter| letter.is_ascii_alphanumeric() || letter == '.'))
            }
            (None, first, _) if is_word(first) => (Kind::Word, while_(is_word)),
            (None, first, _) => (Kind::Sign, first.len_utf8()),
        })
    }

    /// What is open ends where it is closed for the first time from `start` on, or stays open.
    fn close(&mut self, open: Open, start: usize) -> (Kind, usize) {
        let (kind, mark) = match open {
            Open::Quoted('\'') => (Kind::Text, "'"),
            Open::Quoted('"') => (Kind::Name, "\""),
            Open::Quoted(_) => (Kind::Name, "`"),
            Open::Comment => (Kind::Comment, "*/"),
        };
        // A quote that is doubled closes and opens again, which comes to the same.
        match self.rest.get(start..).and_then(|rest| rest.find(mark)) {
            Some(at) => (kind, start + at + mark.len()),
            None => {
                self.open = Some(open);
                (kind, self.rest.len())
            }
        }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = (Kind, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, length) = self.look()?;
        let (word, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some((kind, word))
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Whether the lines so far are whole statements.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    open: Option<Open>,
    /// A statement has begun and not ended.
    begun: bool,
}

impl Lines {
    /// Takes the next lines; whether nothing is unfinished then.
    pub(crate) fn are_whole_with(&mut self, text: &str) -> bool {
        let mut lexer = Lexer::new(text, self.open);
        for (kind, _) in lexer.by_ref() {
            match kind {
                Kind::Semicolon => self.begun = false,
                Kind::Space | Kind::Comment => {}
                _ => self.begun = true,
            }
        }
        self.open = lexer.open;
        !self.begun && self.open.is_none()
    }
}

#[cfg(test)]
mod tests;
