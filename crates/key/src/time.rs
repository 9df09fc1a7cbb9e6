//! Instants, days and durations: counts of a unit, so that they sort as numbers do.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use crate::error::{Error, Refusal};

/// How finely a timestamp is kept: its unit, and with it the years that eight bytes reach.
///
/// ```text
/// 3   milliseconds   ± 292 million years
/// 6   microseconds   ± 292 thousand years   (the default)
/// 9   nanoseconds    1677-09-21 … 2262-04-11
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Precision {
    /// Three digits after the second.
    Millis,
    /// Six digits after the second.
    #[default]
    Micros,
    /// Nine digits after the second.
    Nanos,
}

impl Precision {
    /// The precision with this many digits after the second: 3, 6 or 9.
    pub fn from_digits(digits: u8) -> Option<Self> {
        match digits {
            3 => Some(Self::Millis),
            6 => Some(Self::Micros),
            9 => Some(Self::Nanos),
            _ => None,
        }
    }

    /// How many digits after the second are kept.
    pub fn digits(self) -> u8 {
        match self {
            Self::Millis => 3,
            Self::Micros => 6,
            Self::Nanos => 9,
        }
    }

    fn nanos(self) -> i128 {
        match self {
            Self::Millis => 1_000_000,
            Self::Micros => 1_000,
            Self::Nanos => 1,
        }
    }
}

/// An instant: a count of milli-, micro- or nanoseconds since 1970-01-01T00:00:00Z.
///
/// Two timestamps are equal when they are the same instant, whatever their precision.
///
/// ```
/// use keyloom_key::Timestamp;
/// let a: Timestamp = "2025-01-17T08:00:00Z".parse()?;
/// assert_eq!(a, Timestamp::from_millis(1_737_100_800_000));
/// assert_eq!(a.to_string(), "2025-01-17T08:00:00Z");
/// # Ok::<(), keyloom_key::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Timestamp {
    count: i64,
    precision: Precision,
}

impl Timestamp {
    /// `count` units of `precision` since 1970.
    pub fn new(count: i64, precision: Precision) -> Self {
        Self { count, precision }
    }

    /// Milliseconds since 1970.
    pub fn from_millis(count: i64) -> Self {
        Self::new(count, Precision::Millis)
    }

    /// Microseconds since 1970.
    pub fn from_micros(count: i64) -> Self {
        Self::new(count, Precision::Micros)
    }

    /// Nanoseconds since 1970.
    pub fn from_nanos(count: i64) -> Self {
        Self::new(count, Precision::Nanos)
    }

    /// The instant this many nanoseconds from 1970, kept as finely as eight bytes can.
    ///
    /// Beyond 1677–2262 a timestamp has no nanoseconds: an instant that needs them is an error.
    pub fn from_total_nanos(nanos: i128) -> Result<Self, Refusal> {
        for precision in [Precision::Nanos, Precision::Micros, Precision::Millis] {
            if nanos % precision.nanos() != 0 {
                break;
            }
            if let Ok(count) = i64::try_from(nanos / precision.nanos()) {
                return Ok(Self { count, precision });
            }
        }
        Err(Refusal::new(format!("no timestamp reaches {nanos} ns from 1970 with all its digits")))
    }

    /// Nanoseconds since 1970.
    pub fn total_nanos(self) -> i128 {
        i128::from(self.count) * self.precision.nanos()
    }

    /// The count of units of `precision` since 1970.
    ///
    /// Never rounds: an instant that is finer than the unit, or outside what it reaches, is refused.
    pub fn count(self, precision: Precision) -> Result<i64, Refusal> {
        if precision == self.precision {
            return Ok(self.count);
        }
        let (nanos, unit) = (self.total_nanos(), precision.nanos());
        if nanos % unit != 0 {
            return Err(Refusal::new(format!(
                "timestamp {self} is finer than the {} digits that the field keeps: declare timestamp(9), or round it first",
                precision.digits()
            )));
        }
        i64::try_from(nanos / unit).map_err(|_| {
            Refusal::new(format!(
                "timestamp {self} is out of the range of a timestamp with {} digits: declare timestamp(6) or (3)",
                precision.digits()
            ))
        })
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        self.total_nanos().cmp(&other.total_nanos())
    }
}

impl Hash for Timestamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.total_nanos().hash(state);
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    /// Reads RFC 3339 text, with any offset.
    fn from_str(text: &str) -> Result<Self, Error> {
        let instant: jiff::Timestamp = text.parse().map_err(|_| {
            Error::text("timestamp", text, "not RFC 3339: write it like 2025-01-17T08:00:00Z")
        })?;
        Self::from_total_nanos(instant.as_nanosecond())
            .map_err(|refusal| Error::text("timestamp", text, refusal.0))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, or the nanoseconds since 1970 where RFC 3339 has no year for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_rfc3339() {
            Some(instant) => instant.fmt(f),
            None => self.total_nanos().fmt(f),
        }
    }
}

impl Timestamp {
    /// The instant as RFC 3339 writes it, where its year is between 0 and 9999.
    pub fn to_rfc3339(self) -> Option<impl fmt::Display> {
        let instant = jiff::Timestamp::from_nanosecond(self.total_nanos()).ok()?;
        (instant.as_second() >= YEAR_ZERO).then_some(instant)
    }
}

/// 0000-01-01T00:00:00Z.
const YEAR_ZERO: i64 = -62_167_219_200;

/// A day of the calendar: a count of days since 1970-01-01.
///
/// ```
/// use keyloom_key::Date;
/// let day: Date = "2024-02-29".parse()?;
/// assert_eq!(day, Date::from_days(19_782));
/// assert_eq!(day.to_string(), "2024-02-29");
/// # Ok::<(), keyloom_key::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    days: i32,
}

impl Date {
    /// The day this many days after 1970-01-01.
    pub fn from_days(days: i32) -> Self {
        Self { days }
    }

    /// Days since 1970-01-01.
    pub fn days(self) -> i32 {
        self.days
    }
}

const EPOCH: jiff::civil::Date = jiff::civil::Date::constant(1970, 1, 1);

impl FromStr for Date {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::text("date", text, "not a day: write it like 2025-01-17");
        // jiff also takes a time of day and drops it; a key must not lose what it was given.
        if text.contains([':', 'T', 't', ' ']) {
            return Err(wrong());
        }
        let date: jiff::civil::Date = text.parse().map_err(|_| wrong())?;
        let days = EPOCH.until(date).map_err(|_| wrong())?.get_days();
        Ok(Self { days })
    }
}

impl fmt::Display for Date {
    /// `YYYY-MM-DD`, or the days since 1970-01-01 outside the years 0 to 9999.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = jiff::Span::new().try_days(self.days);
        match since.and_then(|since| EPOCH.checked_add(since)) {
            Ok(date) if date.year() >= 0 => date.fmt(f),
            _ => self.days.fmt(f),
        }
    }
}

/// A length of time in nanoseconds, up to 292 years either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    nanos: i64,
}

impl Duration {
    /// A duration of this many nanoseconds.
    pub fn from_nanos(nanos: i64) -> Self {
        Self { nanos }
    }

    /// The duration in nanoseconds.
    pub fn nanos(self) -> i64 {
        self.nanos
    }
}

impl FromStr for Duration {
    type Err = Error;

    /// Reads `1h30m`, `250ms`, `-5s` and the like, and ISO 8601 (`PT1H30M`).
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |reason: &'static str| Error::text("duration", text, reason);
        let duration: jiff::SignedDuration =
            text.parse().map_err(|_| wrong("not a duration: write it like 1h30m, or as a number of ns"))?;
        let nanos = i64::try_from(duration.as_nanos())
            .map_err(|_| wrong("longer than 292 years, the most it can be"))?;
        Ok(Self { nanos })
    }
}

impl fmt::Display for Duration {
    /// ISO 8601, such as `PT1H30M`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        jiff::SignedDuration::from_nanos(self.nanos).fmt(f)
    }
}
