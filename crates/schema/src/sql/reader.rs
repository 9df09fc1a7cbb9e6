//! A text as tokens, taken one by one.

use std::borrow::Cow;

use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};

use super::Before;
use crate::error::Error;

/// Standard SQL, with names in any script and lists that may be empty.
#[derive(Debug)]
struct Keyloom;

impl Dialect for Keyloom {
    fn is_identifier_start(&self, c: char) -> bool {
        c.is_alphabetic() || c == '_'
    }

    fn is_identifier_part(&self, c: char) -> bool {
        c.is_alphanumeric() || c == '_'
    }

    fn supports_in_empty_list(&self) -> bool {
        true
    }
}

/// The most operators a statement may have: they nest, and what nests too deep cannot be taken apart on the stack.
const MAX_OPERATORS: usize = 500;

pub(super) struct Reader {
    parser: Parser<'static>,
}

/// An error at a place in the text.
#[cold]
pub(super) fn wrong(at: Location, reason: impl Into<Cow<'static, str>>) -> Error {
    Error::Sql { line: at.line, column: at.column, reason: reason.into() }
}

impl Reader {
    /// Reads a text, of which something stands `before`; that becomes what is before the next text.
    pub(super) fn new(text: &str, before: &mut Before) -> Result<Self, Error> {
        let lines = before.lines;
        let behind = |at: Location| Location::new(at.line + lines, at.column);
        before.lines += u64::try_from(text.matches('\n').count()).unwrap_or_default();
        let mut tokens = Vec::new();
        Tokenizer::new(&Keyloom, text)
            .tokenize_with_location_into_buf(&mut tokens)
            .map_err(|error| wrong(behind(error.location), error.message))?;
        if lines > 0 {
            for TokenWithSpan { span, .. } in &mut tokens {
                *span = Span::new(behind(span.start), behind(span.end));
            }
        }
        check_operators(&tokens)?;
        number_placeholders(&mut tokens, &mut before.placeholders);
        Ok(Self { parser: Parser::new(&Keyloom).with_tokens_with_locations(tokens) })
    }

    /// What the parser reads from here on.
    pub(super) fn parsed<T>(
        &mut self,
        parse: impl FnOnce(&mut Parser<'static>) -> Result<T, ParserError>,
    ) -> Result<T, Error> {
        let start = self.place();
        parse(&mut self.parser).map_err(|error| match error {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
                // The parser says the place within its text.
                let place = text.rsplit_once(" at Line: ").and_then(|(reason, place)| {
                    let (line, column) = place.split_once(", Column: ")?;
                    let at = Location::new(line.parse().ok()?, column.trim().parse().ok()?);
                    Some((reason.to_owned(), at))
                });
                let (reason, at) = place.unwrap_or((text, start));
                wrong(at, reason)
            }
            ParserError::RecursionLimitExceeded => wrong(start, "the text nests too deep: take it apart"),
        })
    }

    /// Where what stands here begins.
    pub(super) fn place(&self) -> Location {
        self.parser.peek_token_ref().span.start
    }

    /// The error of something else than what stands here.
    pub(super) fn expected(&self, what: &str) -> Error {
        let found = self.parser.peek_token_ref();
        self.wrong(format!("expected {what}, found {}", found.token))
    }

    /// An error at what stands here.
    pub(super) fn wrong(&self, reason: impl Into<Cow<'static, str>>) -> Error {
        wrong(self.place(), reason)
    }

    /// Passes over semicolons; whether a statement follows.
    pub(super) fn next_statement(&mut self) -> bool {
        while self.token(&Token::SemiColon) {}
        !self.at_end()
    }

    pub(super) fn end_statement(&mut self) -> Result<(), Error> {
        if self.at_end() || self.token(&Token::SemiColon) {
            return Ok(());
        }
        Err(self.expected("the end of the statement"))
    }

    pub(super) fn at_end(&self) -> bool {
        self.parser.peek_token_ref().token == Token::EOF
    }

    /// Takes the token if it is next.
    pub(super) fn token(&mut self, token: &Token) -> bool {
        self.parser.consume_token(token)
    }

    /// Takes this token, or says that it should stand here.
    pub(super) fn take(&mut self, token: &Token) -> Result<(), Error> {
        if self.token(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    /// Takes the words if they are next.
    pub(super) fn words(&mut self, words: &[&str]) -> bool {
        let next = |(index, word): (usize, &&str)| match &self.parser.peek_nth_token_ref(index).token {
            Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
            _ => false,
        };
        let there = words.iter().enumerate().all(next);
        if there {
            words.iter().for_each(|_| self.parser.advance_token());
        }
        there
    }

    pub(super) fn word(&mut self, word: &str) -> bool {
        self.words(&[word])
    }

    /// Takes a name.
    pub(super) fn name(&mut self, what: &str) -> Result<String, Error> {
        let Token::Word(word) = &self.parser.peek_token_ref().token else {
            return Err(self.expected(what));
        };
        let name = word.value.clone();
        self.parser.advance_token();
        Ok(name)
    }

    /// Takes a text in quotes if it is next.
    pub(super) fn string(&mut self) -> Option<String> {
        let Token::SingleQuotedString(text) = &self.parser.peek_token_ref().token else { return None };
        let text = text.clone();
        self.parser.advance_token();
        Some(text)
    }

    /// Takes `()` if it is next.
    pub(super) fn empty_list(&mut self) -> bool {
        let [open, close] = self.parser.peek_tokens();
        let empty = open == Token::LParen && close == Token::RParen;
        if empty {
            self.parser.advance_token();
            self.parser.advance_token();
        }
        empty
    }

    /// Takes a number.
    pub(super) fn number<N: std::str::FromStr>(&mut self, what: &str) -> Result<N, Error> {
        let Token::Number(digits, _) = &self.parser.peek_token_ref().token else {
            return Err(self.expected(what));
        };
        let number = digits.parse().map_err(|_| self.expected(what))?;
        self.parser.advance_token();
        Ok(number)
    }

    /// Takes what stands in brackets with commas between.
    pub(super) fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.take(&Token::LParen)?;
        let mut items = vec![one(self)?];
        while self.token(&Token::Comma) {
            items.push(one(self)?);
        }
        if !self.token(&Token::RParen) {
            return Err(self.expected("`,` or `)`"));
        }
        Ok(items)
    }
}

/// Gives each placeholder without a number the one of its place.
fn number_placeholders(tokens: &mut [TokenWithSpan], count: &mut u32) {
    for token in tokens {
        match &mut token.token {
            Token::Placeholder(name) if name == "?" => {
                *count += 1;
                *name = format!("?{count}");
            }
            _ => {}
        }
    }
}

/// Refuses a statement with so many operators that its tree may be too deep.
///
/// Not `CREATE TABLE`, which is read here and has no operators, however many columns.
fn check_operators(tokens: &[TokenWithSpan]) -> Result<(), Error> {
    let tokens = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let tokens: Vec<&TokenWithSpan> = tokens.collect();
    tokens.split(|token| token.token == Token::SemiColon).try_for_each(|statement| {
        let is =
            |token: &&TokenWithSpan, keyword| matches!(&token.token, Token::Word(w) if w.keyword == keyword);
        match statement {
            [create, table, ..] if is(create, Keyword::CREATE) && is(table, Keyword::TABLE) => Ok(()),
            statement => check_statement(statement),
        }
    })
}

fn check_statement(tokens: &[&TokenWithSpan]) -> Result<(), Error> {
    let mut operators = 0;
    let mut behind_value = false;
    for token in tokens {
        let is_operator = match &token.token {
            Token::Word(word) => word.keyword != Keyword::NoKeyword && behind_value,
            Token::Number(..) | Token::SingleQuotedString(_) | Token::HexStringLiteral(_) => false,
            Token::Comma | Token::LParen | Token::RParen | Token::RBracket | Token::EOF => false,
            _ => behind_value,
        };
        operators += usize::from(is_operator);
        if operators > MAX_OPERATORS {
            let reason =
                format!("more than {MAX_OPERATORS} operators in one statement: use IN, or take it apart");
            return Err(wrong(token.span.start, reason));
        }
        behind_value = match &token.token {
            Token::Word(word) => word.keyword == Keyword::NoKeyword || !is_operator,
            Token::Number(..) | Token::SingleQuotedString(_) | Token::HexStringLiteral(_) => true,
            Token::RParen | Token::RBracket => true,
            _ => false,
        };
    }
    Ok(())
}
