use keyloom::schema::sql::{Statement, parse};
use proptest::prelude::*;

use super::*;

fn words(text: &str) -> Vec<(Kind, &str)> {
    Lexer::new(text, None).filter(|(kind, _)| *kind != Kind::Space).collect()
}

#[test]
fn words_are_what_they_look_like() {
    assert_eq!(
        words("SELECT \"a b\", 'it''s; ', 1.5e3 /* ; */ FROM é -- ;'\n;"),
        [
            (Kind::Word, "SELECT"),
            (Kind::Name, "\"a b\""),
            (Kind::Sign, ","),
            (Kind::Text, "'it'"),
            (Kind::Text, "'s; '"),
            (Kind::Sign, ","),
            (Kind::Number, "1.5e3"),
            (Kind::Comment, "/* ; */"),
            (Kind::Word, "FROM"),
            (Kind::Word, "é"),
            (Kind::Comment, "-- ;'"),
            (Kind::Semicolon, ";"),
        ]
    );
}

#[test]
fn lines_are_whole_when_nothing_is_open() {
    let whole = |text: &str| Lines::default().are_whole_with(text);
    for text in ["", "  \n", "SELECT 1;", "SELECT 1; -- done", ";;", "-- only a remark", "SELECT ';';"] {
        assert!(whole(text), "{text}");
    }
    for text in
        ["SELECT", "SELECT ';", "SELECT \";", "SELECT `;", "/* ;", "SELECT 1; SELECT", "SELECT 1 -- ;"]
    {
        assert!(!whole(text), "{text}");
    }
}

/// Pieces of which texts are made that hurt.
fn text() -> impl Strategy<Value = String> {
    let pieces =
        ["'", "''", "\"", "`", ";", "--", "-", "/*", "*/", "/", "*", "\n", " ", "a", "1", "é", "SELECT 1"];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn words_are_the_text(text in text()) {
        let all: String = Lexer::new(&text, None).map(|(_, word)| word).collect();
        prop_assert_eq!(all, text);
    }

    /// Line by line it is the same as all at once.
    #[test]
    fn lines_add_up(text in text()) {
        let mut lines = Lines::default();
        let mut whole = true;
        for line in text.split_inclusive('\n') {
            whole = lines.are_whole_with(line);
        }
        prop_assert_eq!(whole, Lines::default().are_whole_with(&text));
    }

    /// What the parser reads as whole statements, each with its `;`, is whole here; and a text that is cut where it is
    /// whole has the same statements.
    #[test]
    fn the_parser_agrees(statements in prop::collection::vec("SELECT ('([a; \"`/*-]|'')*'|\"[b; '/*-]+\"|/\\*[;'\"-]*\\*/ 1|--[;'\"]*\n 2)", 1..4)) {
        let text: String = statements.iter().map(|statement| format!("{statement};\n")).collect();
        prop_assert!(Lines::default().are_whole_with(&text), "{}", text);
        let mut lines = Lines::default();
        let mut parts = vec![String::new()];
        for line in text.split_inclusive('\n') {
            parts.last_mut().unwrap().push_str(line);
            if lines.are_whole_with(line) {
                parts.push(String::new());
            }
        }
        let whole = parse(&text).unwrap();
        let parsed: Vec<Statement> = parts.iter().flat_map(|part| parse(part).unwrap()).collect();
        prop_assert_eq!((parsed.len(), whole.len()), (statements.len(), statements.len()));
    }
}
