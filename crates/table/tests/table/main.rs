//! What tables promise. One program: the stores and the tables are compiled for it once.

mod blind;
mod bounds;
mod budgets;
mod cases;
mod fixture;
mod indexes;
mod inspect;
mod keyspace;
mod load;
mod loader;
mod placement;
mod plain_index;
mod prepared;
mod regressions;
mod reopened;
mod rows;
mod transactions;
