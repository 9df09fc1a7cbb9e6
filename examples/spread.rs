//! How evenly do stripes and shards spread my keys?

use keyloom::key::placement::{Hash, Shards, Stripes};

fn main() {
    let users: Vec<String> = (0..10_000).map(|number| format!("user#{number}")).collect();
    let stripes = Stripes::default();
    print(
        "256 stripes by crc32",
        users.iter().map(|user| usize::from(stripes.stripe_of(user.as_bytes()))),
        256,
    );
    for hash in [Hash::Md5, Hash::XxHash, Hash::Murmur3] {
        let Some(shards) = Shards::new(16, hash) else { continue };
        let name = format!("16 shards by {hash}");
        print(&name, users.iter().map(|user| usize::from(shards.shard_of(user.as_bytes()))), 16);
    }
}

fn print(name: &str, places: impl Iterator<Item = usize>, count: usize) {
    let mut counts = vec![0_usize; count];
    for place in places {
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    let (least, most) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&0));
    let keys: usize = counts.iter().sum();
    // The place that is farthest from its share, in percent of it.
    let farthest = counts.iter().map(|own| (own * count).abs_diff(keys) * 100 / keys).max().unwrap_or(0);
    println!("{name:<22} {} a place on average, {least} to {most}: within {} %", keys / count, farthest + 1);
}
