//! Reading the URL of a cluster, so that every mistake is named.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::{Config, ConfigError, Replication, Scope, Tls};

/// The port of Cassandra's protocol.
const PORT: u16 = 9042;
/// The shortest lease: it must outlast a slow statement.
const SHORTEST: Duration = Duration::from_secs(1);

const OPTIONS: [&str; 13] = [
    "replication",
    "consistency",
    "datacenter",
    "lease",
    "split_rows",
    "split_bytes",
    "cache",
    "timeout",
    "patience",
    "tls",
    "ca",
    "cert",
    "key",
];

impl FromStr for Config {
    type Err = ConfigError;

    fn from_str(url: &str) -> Result<Self, ConfigError> {
        let form = "cassandra://[user:password@]host[:port][,host…]/keyspace[?option=value&…]";
        let rest = url
            .strip_prefix("cassandra://")
            .ok_or_else(|| ConfigError::new(format!("the URL of a cluster is {form}")))?;
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, keyspace) = place
            .rsplit_once('/')
            .ok_or_else(|| ConfigError::new(format!("the keyspace is missing: {form}")))?;
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(login(user)?), hosts),
            None => (None, authority),
        };
        let nodes = hosts.split(',').map(node).collect::<Result<_, _>>()?;
        let mut config = Self { user, ..Self::plain(nodes, name(keyspace)?) };
        let mut given = Given::default();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            given.take(option, &mut config)?;
        }
        given.judge(&mut config)?;
        Ok(config)
    }
}

/// Options that mean something only together.
#[derive(Default)]
struct Given {
    seen: Vec<String>,
    tls: Option<bool>,
    ca: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl Given {
    fn take(&mut self, option: &str, config: &mut Config) -> Result<(), ConfigError> {
        let (name, value) = option
            .split_once('=')
            .ok_or_else(|| ConfigError::new(format!("option {option} has no value: write {option}=…")))?;
        let value = plain(value)?;
        if self.seen.iter().any(|seen| seen == name) {
            return Err(ConfigError::new(format!("option {name} is given twice")));
        }
        self.seen.push(name.to_owned());
        match name {
            "replication" => config.replication = replication(&value)?,
            "consistency" => config.scope = scope(&value)?,
            "datacenter" => config.datacenter = Some(value),
            "lease" => config.lease = Some(span(name, &value)?),
            "split_rows" => config.split_rows = number(name, &value)?,
            "split_bytes" => config.split_bytes = bytes(name, &value)?,
            "cache" => config.cache = number(name, &value)?,
            "timeout" => config.timeout = span(name, &value)?,
            "patience" => config.patience = span(name, &value)?,
            "tls" => {
                self.tls = Some(
                    value
                        .parse()
                        .map_err(|_| ConfigError::new(format!("tls={value}: it is true or false")))?,
                );
            }
            "ca" => self.ca = Some(value.into()),
            "cert" => self.cert = Some(value.into()),
            "key" => self.key = Some(value.into()),
            _ => {
                let all = OPTIONS.join(", ");
                return Err(ConfigError::new(format!("there is no option {name}: there are {all}")));
            }
        }
        Ok(())
    }

    fn judge(self, config: &mut Config) -> Result<(), ConfigError> {
        let own = match (self.cert, self.key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => return Err(ConfigError::new("cert and key belong together: give both files")),
        };
        config.tls = match (self.tls, self.ca) {
            (Some(true), Some(ca)) => Some(Tls { ca, own }),
            (Some(true), None) => {
                return Err(ConfigError::new("tls=true needs ca=FILE, the certificates that are trusted"));
            }
            (_, Some(_)) => return Err(ConfigError::new("ca has no effect without tls=true")),
            (_, None) if own.is_some() => {
                return Err(ConfigError::new("cert and key have no effect without tls=true"));
            }
            (_, None) => None,
        };
        if config.scope == Scope::Local && config.datacenter.is_none() {
            return Err(ConfigError::new("consistency=local_quorum needs datacenter=NAME"));
        }
        if config.lease.is_some_and(|lease| lease < SHORTEST) {
            return Err(ConfigError::new("the lease must be a second at least"));
        }
        for (name, zero) in [
            ("split_rows", config.split_rows < 2),
            ("split_bytes", config.split_bytes == 0),
            ("cache", config.cache == 0),
            ("timeout", config.timeout.is_zero()),
        ] {
            if zero {
                return Err(ConfigError::new(format!("{name} is too small")));
            }
        }
        Ok(())
    }
}

fn login(text: &str) -> Result<(String, String), ConfigError> {
    let (user, password) = text
        .split_once(':')
        .ok_or_else(|| ConfigError::new("the password is missing: user:password@host"))?;
    match user.is_empty() {
        true => Err(ConfigError::new("the user is missing: user:password@host")),
        false => Ok((plain(user)?, plain(password)?)),
    }
}

/// `host:port` of `host`, `host:port`, `[v6]` or `[v6]:port`.
fn node(text: &str) -> Result<String, ConfigError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest
                .split_once(']')
                .ok_or_else(|| ConfigError::new(format!("host {text}: the ] is missing")))?;
            (format!("[{host}]"), port.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host.to_owned(), Some(port)),
            None => (text.to_owned(), None),
        },
    };
    if host.is_empty() || host == "[]" {
        return Err(ConfigError::new("a host is missing: cassandra://host[:port][,host…]/keyspace"));
    }
    let port =
        match port {
            None => PORT,
            Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or_else(|| {
                ConfigError::new(format!("host {text}: the port is a number from 1 to 65535"))
            })?,
        };
    Ok(format!("{host}:{port}"))
}

fn name(keyspace: &str) -> Result<String, ConfigError> {
    let letters =
        keyspace.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let first = keyspace.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    match letters && first && keyspace.len() <= 48 {
        true => Ok(keyspace.to_owned()),
        false => Err(ConfigError::new(format!(
            "keyspace {keyspace:?}: it has 1 to 48 of a-z, 0-9 and _, and begins with a letter"
        ))),
    }
}

fn replication(value: &str) -> Result<Replication, ConfigError> {
    let wrong =
        || ConfigError::new(format!("replication={value}: it is 3, or east:3,west:3, each 1 at least"));
    let copies = |text: &str| text.parse().ok().filter(|copies| *copies > 0).ok_or_else(wrong);
    if !value.contains(':') {
        return Ok(Replication::Each(copies(value)?));
    }
    let each = |part: &str| {
        let (name, number) = part.split_once(':').ok_or_else(wrong)?;
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        match plain && !name.is_empty() {
            true => Ok((name.to_owned(), copies(number)?)),
            false => Err(wrong()),
        }
    };
    Ok(Replication::Of(value.split(',').map(each).collect::<Result<_, _>>()?))
}

fn scope(value: &str) -> Result<Scope, ConfigError> {
    match value {
        "quorum" => Ok(Scope::Everywhere),
        "local_quorum" => Ok(Scope::Local),
        _ => Err(ConfigError::new(format!(
            "consistency={value}: it is quorum or local_quorum; with less, reads would miss what was acknowledged"
        ))),
    }
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, ConfigError> {
    value.parse().map_err(|_| ConfigError::new(format!("{name}={value}: it is a whole number")))
}

/// `10s`, `500ms`, `2m`.
pub(super) fn span(name: &str, value: &str) -> Result<Duration, ConfigError> {
    let wrong = || ConfigError::new(format!("{name}={value}: write 500ms, 10s or 2m"));
    let digits = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at_checked(digits).ok_or_else(wrong)?;
    let number: u32 = number.parse().map_err(|_| wrong())?;
    match unit {
        "ms" => Ok(Duration::from_millis(number.into())),
        "s" => Ok(Duration::from_secs(number.into())),
        "m" => Ok(Duration::from_secs(60) * number),
        _ => Err(wrong()),
    }
}

/// A time as [`span`] reads it.
pub(super) fn spelled(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{}s", time.as_secs()),
        _ => format!("{}ms", time.as_millis()),
    }
}

/// `4096`, `64KiB`, `64MiB`, `1GiB`.
fn bytes(name: &str, value: &str) -> Result<usize, ConfigError> {
    let digits = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at_checked(digits).unwrap_or((value, ""));
    let shift = match unit {
        "" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => 64,
    };
    let scale = 1usize.checked_shl(shift);
    number
        .parse::<usize>()
        .ok()
        .zip(scale)
        .and_then(|(number, scale)| number.checked_mul(scale))
        .ok_or_else(|| ConfigError::new(format!("{name}={value}: write 4096, 64KiB, 64MiB or 1GiB")))
}

/// What a text with `%2F` for `/` stands for.
fn plain(text: &str) -> Result<String, ConfigError> {
    let wrong =
        || ConfigError::new(format!("{text}: % is followed by two hexadecimal digits, % itself is %25"));
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = digit(bytes.next()).zip(digit(bytes.next())).ok_or_else(wrong)?;
                u8::try_from(high * 16 + low).map_err(|_| wrong())?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).map_err(|_| wrong())
}

/// A text that [`plain`] gives back.
pub(super) fn percent(text: &str) -> String {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.bytes()
        .map(|byte| if safe(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
