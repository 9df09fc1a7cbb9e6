//! Keys as they come: in no order, by users of whom few write most, or by time.

/// Random numbers that are the same everywhere (`SplitMix64`).
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below 1.
    pub(crate) fn part(&mut self) -> f64 {
        // 53 bits are what a double holds.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Mixes the bits of a number.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// Ranks of which the first is twice as likely as the second and so on (Zipf, exponent 1).
#[derive(Debug, Clone)]
pub(crate) struct Zipf(Vec<f64>);

impl Zipf {
    pub(crate) fn new(count: u32) -> Self {
        let mut sum = 0.0;
        let sums = (1..=count).map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        });
        Self(sums.collect())
    }

    pub(crate) fn rank(&self, random: &mut Random) -> u64 {
        let point = random.part() * self.0.last().copied().unwrap_or(0.0);
        self.0.partition_point(|sum| *sum < point) as u64
    }
}

/// Users of the second kind of keys.
const USERS: u32 = 100_000;

/// Which keys are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// A random first field.
    Uniform,
    /// (user, time), where the first user writes twice as much as the second and so on.
    Users,
    /// (time).
    Time,
    /// (time) in a table `WITH (shards = 16)`: a hash of the time stands in front.
    Spread,
}

impl Keys {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Uniform, Self::Users, Self::Time, Self::Spread];

    /// What the page calls them.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Users => "zipf",
            Self::Time => "time",
            Self::Spread => "time, shards = 16",
        }
    }

    /// The keys in the order in which they are written, without end. No key comes twice.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> {
        let mut random = Random(1);
        let users = (self == Self::Users).then(|| Zipf::new(USERS));
        (0_u64..).map(move |number| {
            // Several clients: a little out of order.
            let time = (number + (random.next() & 0xFF)) << 24 | (number & 0xFF_FFFF);
            match (self, &users) {
                (Self::Users, Some(users)) => mix(users.rank(&mut random)) << 40 | number,
                (Self::Time, _) => time,
                (Self::Spread, _) => (mix(number) & 15) << 60 | time,
                (Self::Uniform | Self::Users, _) => mix(number),
            }
        })
    }
}
