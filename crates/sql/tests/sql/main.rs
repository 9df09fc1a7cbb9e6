//! What SQL promises. One program: the stores and the tables are compiled for it once.

mod any_text;
mod one_record;
mod session;
mod sqlite;
mod transcripts;
