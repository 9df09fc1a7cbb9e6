//! What goes wrong, under load from several processes.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use keyloom_cassandra::Driver;
use keyloom_store::Wait;

use crate::after;
use crate::client::{Keys, WORD};
use crate::log::now;
use crate::nodes::Nodes;
use crate::splitters;

pub(crate) type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// How long clients work.
const SECONDS: u64 = 24;
/// How long they may take to end after that.
const LATE: Duration = Duration::from_secs(150);
/// The second client's clock is half a minute behind, in microseconds.
const SKEW: [&str; 3] = ["0", "-30000000", "0"];

/// What goes wrong, and when it began and ended: work must go on in between.
type Fault = fn(&Nodes, &mut Clients) -> Result<(), Box<dyn Error + Send + Sync>>;

pub(crate) struct Scenario {
    name: &'static str,
    number: u8,
    parts: bool,
    fault: Fault,
}

pub(crate) fn all() -> Vec<Scenario> {
    let all: [(&'static str, bool, Fault); 8] = [
        ("all_is_well", false, |_, _| Ok(())),
        ("a_node_is_killed_and_comes_back", false, |nodes, clients| {
            nodes.tell(&["kill", "2"])?;
            clients.must_go_on(Duration::from_secs(6));
            nodes.tell(&["start", "2"])
        }),
        ("a_node_sleeps_past_every_time_out", false, |nodes, clients| {
            nodes.tell(&["pause", "3"])?;
            clients.must_go_on(Duration::from_secs(15));
            nodes.tell(&["resume", "3"])
        }),
        ("a_node_is_parted_from_the_others", true, |nodes, clients| {
            nodes.tell(&["cut", "1"])?;
            clients.must_go_on(Duration::from_secs(12));
            nodes.tell(&["heal"])
        }),
        ("two_splitters_race", false, |_, clients| splitters::race(&clients.url, Keys(clients.keys))),
        ("clients_are_killed_at_work", false, |_, clients| {
            for _ in 0..5 {
                clients.kill(0)?;
                clients.start(0)?;
                clients.must_go_on(Duration::from_secs(3));
            }
            Ok(())
        }),
        ("clients_sleep_past_their_lease", false, |_, clients| {
            for number in [0, 1, 2, 0] {
                clients.signal("STOP", number)?;
                clients.must_go_on(Duration::from_secs(4));
                clients.signal("CONT", number)?;
                std::thread::sleep(Duration::from_millis(500));
            }
            Ok(())
        }),
        ("a_client_sleeps_while_a_node_is_killed", false, |nodes, clients| {
            clients.signal("STOP", 2)?;
            nodes.tell(&["kill", "1"])?;
            clients.must_go_on(Duration::from_secs(6));
            clients.signal("CONT", 2)?;
            nodes.tell(&["start", "1"])
        }),
    ];
    (1u8..).zip(all).map(|(number, (name, parts, fault))| Scenario { name, number, parts, fault }).collect()
}

impl Scenario {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the nodes can do what is asked of them.
    pub(crate) fn fits(&self, nodes: &Nodes) -> bool {
        let fits = !self.parts || nodes.part();
        if !fits {
            println!("not run: {}: nodes without networks of their own cannot be parted", self.name);
        }
        fits
    }

    pub(crate) fn run(&self, nodes: &Nodes) -> Outcome {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults").join(self.name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let url = nodes.url(&format!("faults_{}", std::process::id()));
        // The keyspace is there before clients come: making it takes a while.
        drop(Driver::connect(&url.parse()?).wait()?);
        let mut clients = Clients::new(url.clone(), self.number, folder.clone());
        for number in 0..SKEW.len() {
            clients.start(number)?;
        }
        clients.are_at_work()?;
        clients.must_go_on(Duration::from_secs(4));
        let faulted = (self.fault)(nodes, &mut clients);
        let ended = clients.wait();
        faulted?;
        ended?;
        after::check(&url, Keys(self.number), &clients.logs, &clients.windows)
            .map_err(|error| format!("{error}\nwhat clients did: {}", folder.display()).into())
    }
}

/// The clients, killed when this is dropped.
pub(crate) struct Clients {
    url: String,
    keys: u8,
    folder: PathBuf,
    start: Instant,
    now: Vec<Option<Child>>,
    logs: Vec<PathBuf>,
    windows: Vec<(u64, u64)>,
}

impl Clients {
    fn new(url: String, keys: u8, folder: PathBuf) -> Self {
        let now = SKEW.iter().map(|_| None).collect();
        Self { url, keys, folder, start: Instant::now(), now, logs: vec![], windows: vec![] }
    }

    /// Starts a client, which works as long as the first of them.
    fn start(&mut self, number: usize) -> Outcome {
        let log = self.folder.join(format!("client-{}.log", self.logs.len()));
        let left = SECONDS.saturating_sub(self.start.elapsed().as_secs()).max(2);
        let child = Command::new(std::env::current_exe()?)
            .args([WORD, &self.url, &self.keys.to_string(), &self.logs.len().to_string(), &left.to_string()])
            .arg(&log)
            .arg(SKEW.get(number).copied().unwrap_or("0"))
            .spawn()?;
        self.logs.push(log);
        *self.now.get_mut(number).expect("a client") = Some(child);
        Ok(())
    }

    /// Waits until every client has done something.
    fn are_at_work(&self) -> Outcome {
        let end = self.start + LATE;
        for log in &self.logs {
            while !std::fs::read_to_string(log).is_ok_and(|text| text.contains("\nend ")) {
                if Instant::now() > end {
                    return Err(format!("{} does not begin", log.display()).into());
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    /// Waits, and remembers that something must get done meanwhile.
    fn must_go_on(&mut self, time: Duration) {
        let start = now();
        std::thread::sleep(time);
        self.windows.push((start, now()));
    }

    fn signal(&self, signal: &str, number: usize) -> Outcome {
        let child = self.now.get(number).and_then(Option::as_ref).ok_or("no such client")?;
        let done = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status()?;
        if done.success() { Ok(()) } else { Err(format!("client {number} is not there").into()) }
    }

    fn kill(&mut self, number: usize) -> Outcome {
        let mut child = self.now.get_mut(number).and_then(Option::take).ok_or("no such client")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Waits until all have ended.
    fn wait(&mut self) -> Outcome {
        let end = self.start + Duration::from_secs(SECONDS) + LATE;
        for (number, client) in self.now.iter_mut().enumerate() {
            let Some(child) = client else { continue };
            loop {
                if let Some(status) = child.try_wait()? {
                    if !status.success() {
                        return Err(format!("client {number} failed: {status}").into());
                    }
                    break;
                }
                if Instant::now() > end {
                    return Err(format!("client {number} does not end").into());
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for child in self.now.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
