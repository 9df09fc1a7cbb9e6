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
        let Some(nanos) = parse_rfc3339(text) else {
            let reason =
                "not RFC 3339: write it like 2025-01-17T08:00:00Z, with nine digits after the second at most";
            return Err(Error::text("timestamp", text, reason));
        };
        Self::from_total_nanos(nanos).map_err(|refusal| Error::text("timestamp", text, refusal.0))
    }
}

const NANOS_A_SECOND: i128 = 1_000_000_000;
const NANOS_A_DAY: i128 = 86_400 * NANOS_A_SECOND;

/// The nanoseconds since 1970 of `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`.
///
/// By hand, because the library's instants end a day before the year 9999 does.
fn parse_rfc3339(text: &str) -> Option<i128> {
    let (date, rest) = text.split_at_checked("YYYY-MM-DD".len())?;
    let days = date.parse::<Date>().ok()?.days();
    let (time, rest) = rest.strip_prefix(['T', 't', ' '])?.split_at_checked("HH:MM:SS".len())?;
    let second =
        clock(time.get(..5)?)? * 60 + two_digits(time.strip_prefix(time.get(..5)?)?.strip_prefix(':')?, 59)?;
    let (fraction, offset) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (fraction, offset) = rest.split_at_checked(digits)?;
            (format!("{fraction:0<9}").parse::<u32>().ok().filter(|_| (1..=9).contains(&digits))?, offset)
        }
    };
    let minutes = match offset.split_at_checked(1)? {
        ("Z" | "z", "") => 0,
        ("+", offset) => clock(offset)?,
        ("-", offset) => -clock(offset)?,
        _ => return None,
    };
    let seconds = i128::from(second - minutes * 60);
    Some(i128::from(days) * NANOS_A_DAY + seconds * NANOS_A_SECOND + i128::from(fraction))
}

/// The minutes of `HH:MM`.
fn clock(text: &str) -> Option<i32> {
    let (hour, minute) = text.split_once(':')?;
    Some(two_digits(hour, 23)? * 60 + two_digits(minute, 59)?)
}

fn two_digits(text: &str, most: i32) -> Option<i32> {
    let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= most)
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, or the nanoseconds since 1970 where RFC 3339 has no year for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_rfc3339() {
            Some(text) => f.write_str(&text),
            None => self.total_nanos().fmt(f),
        }
    }
}

impl Timestamp {
    /// The instant as RFC 3339 writes it, where its year is between 0 and 9999.
    pub fn to_rfc3339(self) -> Option<String> {
        let nanos = self.total_nanos();
        let date = Date::from_days(i32::try_from(nanos.div_euclid(NANOS_A_DAY)).ok()?).calendar()?;
        let nanos = nanos.rem_euclid(NANOS_A_DAY);
        let (second, fraction) = (nanos / NANOS_A_SECOND, nanos % NANOS_A_SECOND);
        let mut text = format!("{date}T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
        if fraction > 0 {
            text.push_str(format!(".{fraction:09}").trim_end_matches('0'));
        }
        text.push('Z');
        Some(text)
    }
}

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

    /// The day of the calendar, in the years 0 to 9999.
    fn calendar(self) -> Option<jiff::civil::Date> {
        let since = jiff::Span::new().try_days(self.days).ok()?;
        EPOCH.checked_add(since).ok().filter(|date| date.year() >= 0)
    }
}

const EPOCH: jiff::civil::Date = jiff::civil::Date::constant(1970, 1, 1);

impl FromStr for Date {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::text("date", text, "not a day: write it like 2025-01-17");
        // jiff takes more: other spellings, far years, and a time of day that it drops.
        if text.len() != "YYYY-MM-DD".len() || text.bytes().filter(|byte| *byte == b'-').count() != 2 {
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
        match self.calendar() {
            Some(date) => date.fmt(f),
            None => self.days.fmt(f),
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
