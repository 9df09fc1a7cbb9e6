//! The three ways through a tree: spans in turn, spans merged, and from value to value.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::ControlFlow;
use std::time::Duration;

use keyloom_key::{Span, prefix_end};
use keyloom_plan::Stretch;
use keyloom_schema::Tree;
use keyloom_store::{Direction, Limits, Read};

use super::Run;
use super::consume::{Consumer, Visit};
use crate::error::Error;

const NO_LIMITS: Limits = Limits { rows: usize::MAX, bytes: usize::MAX, time: Duration::MAX };

impl<R: Read> Run<'_, R> {
    fn direction(&self) -> Direction {
        if self.plan.backward { Direction::Backward } else { Direction::Forward }
    }

    /// Reads spans one after the other.
    pub(super) async fn in_turn<V: Visit>(
        &self,
        stretches: &[Stretch],
        consumer: &mut Consumer<'_, V>,
    ) -> Result<(), Error> {
        for number in self.turns(stretches.len()) {
            // What an earlier page has read is left as an empty span.
            let Some(stretch) = stretches.get(number).filter(|stretch| !stretch.span.is_empty()) else {
                continue;
            };
            if self.span(number, &stretch.span, consumer).await?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads one span to its end, or until the consumer has enough.
    async fn span<V: Visit>(
        &self,
        number: usize,
        span: &Span,
        consumer: &mut Consumer<'_, V>,
    ) -> Result<ControlFlow<()>, Error> {
        let mut left = None;
        loop {
            consumer.examined.seeks += 1;
            let limits = Limits { rows: consumer.most(), ..NO_LIMITS };
            let look = |key: &[u8], value: &[u8]| consumer.entry(number, key, value);
            let page = self.read.scan(left.as_ref().unwrap_or(span), self.direction(), limits, look).await?;
            if consumer.settle(self.read).await?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            left = page.rest;
            if left.is_none() {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    /// Reads spans side by side, always taking the row whose key, behind what its span shares, comes first.
    pub(super) async fn merged<V: Visit>(
        &self,
        stretches: &[Stretch],
        consumer: &mut Consumer<'_, V>,
    ) -> Result<(), Error> {
        let chunk = consumer.chunk();
        let mut sources: Vec<Source> = stretches.iter().map(Source::new).collect();
        let mut heads = Heads::new(self.plan.backward);
        for (number, source) in sources.iter_mut().enumerate() {
            source.fill(self.read, self.direction(), chunk, consumer).await?;
            heads.push(number, source);
        }
        while let Some(number) = heads.pop() {
            let Some(source) = sources.get_mut(number) else { continue };
            let Some((key, value)) = source.rows.pop_front() else { continue };
            let enough = consumer.counted(number, &key, &value).is_break();
            if (enough || consumer.is_full()) && consumer.settle(self.read).await?.is_break() {
                return Ok(());
            }
            if source.rows.is_empty() {
                source.fill(self.read, self.direction(), chunk, consumer).await?;
            }
            heads.push(number, source);
        }
        let _enough = consumer.settle(self.read).await?;
        Ok(())
    }

    /// Goes from value to value of the first parts, and reads the inner spans behind each.
    pub(super) async fn skip<V: Visit>(
        &self,
        tree: &Tree,
        places: &[Span],
        parts: usize,
        inner: &[Stretch],
        consumer: &mut Consumer<'_, V>,
    ) -> Result<(), Error> {
        for place in self.turns(places.len()) {
            let Some(mut left) = places.get(place).cloned() else { continue };
            while let Some(lead) = self.next_lead(tree, parts, &left, consumer).await? {
                for number in self.turns(inner.len()) {
                    let Some(stretch) = inner.get(number) else { continue };
                    // A page may have ended within this value: what lies before that was read.
                    let span = within(behind(&lead, &stretch.span), &left);
                    if !span.is_empty() && self.span(place, &span, consumer).await?.is_break() {
                        return Ok(());
                    }
                }
                // No key ends where the skipped parts do, so none is lost if a page ends here.
                let reached = match self.plan.backward {
                    true => left.end.insert(lead),
                    false => match prefix_end(lead) {
                        Some(next) => {
                            left.start = next;
                            &left.start
                        }
                        None => break,
                    },
                };
                if consumer.may_end_at(place, reached)?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The numbers up to `count`, in the direction of the plan.
    fn turns(&self, count: usize) -> impl Iterator<Item = usize> + use<R> {
        let backward = self.plan.backward;
        (0..count).map(move |turn| if backward { count - 1 - turn } else { turn })
    }

    /// The bytes up to the end of the skipped parts of the first key in a span.
    async fn next_lead<V: Visit>(
        &self,
        tree: &Tree,
        parts: usize,
        left: &Span,
        consumer: &mut Consumer<'_, V>,
    ) -> Result<Option<Vec<u8>>, Error> {
        consumer.examined.seeks += 1;
        let mut lead = Ok(None);
        let look = |key: &[u8], _: &[u8]| {
            lead = tree.lead(key, parts).map(|lead| Some(lead.to_vec()));
            ControlFlow::Break(())
        };
        let page = self.read.scan(left, self.direction(), Limits::rows(1), look).await?;
        consumer.count(page.rows, page.bytes);
        Ok(lead?)
    }
}

/// The keys that belong to both spans.
fn within(span: Span, outer: &Span) -> Span {
    let start = span.start.max(outer.start.clone());
    let end = match (span.end, &outer.end) {
        (Some(end), Some(outer)) => Some(end.min(outer.clone())),
        (end, outer) => end.or_else(|| outer.clone()),
    };
    Span { start, end }
}

/// A span of the bytes behind `lead`, as a span of keys.
fn behind(lead: &[u8], span: &Span) -> Span {
    let end = match &span.end {
        None => prefix_end(lead),
        Some(end) => Some([lead, end].concat()),
    };
    Span { start: [lead, &span.start].concat(), end }
}

/// A span of a merge, and the rows of it that wait.
struct Source {
    left: Option<Span>,
    shared: usize,
    rows: VecDeque<(Vec<u8>, Vec<u8>)>,
}

impl Source {
    fn new(stretch: &Stretch) -> Self {
        let left = Some(stretch.span.clone()).filter(|span| !span.is_empty());
        Self { left, shared: stretch.shared, rows: VecDeque::new() }
    }

    async fn fill<V: Visit>(
        &mut self,
        read: &impl Read,
        direction: Direction,
        chunk: usize,
        consumer: &mut Consumer<'_, V>,
    ) -> Result<(), Error> {
        let Some(span) = self.left.take() else { return Ok(()) };
        consumer.examined.seeks += 1;
        let look = |key: &[u8], value: &[u8]| {
            self.rows.push_back((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        let page = read.scan(&span, direction, Limits::rows(chunk), look).await?;
        consumer.count(page.rows, page.bytes);
        self.left = page.rest;
        Ok(())
    }
}

/// The first row of each source, by what its key has behind the shared bytes and then by the source's number.
struct Heads {
    forward: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    backward: BinaryHeap<(Vec<u8>, Reverse<usize>)>,
    is_backward: bool,
}

impl Heads {
    fn new(is_backward: bool) -> Self {
        Self { forward: BinaryHeap::new(), backward: BinaryHeap::new(), is_backward }
    }

    fn push(&mut self, number: usize, source: &Source) {
        let Some((key, _)) = source.rows.front() else { return };
        let suffix = key.get(source.shared..).unwrap_or_default().to_vec();
        match self.is_backward {
            false => self.forward.push(Reverse((suffix, number))),
            true => self.backward.push((suffix, Reverse(number))),
        }
    }

    fn pop(&mut self) -> Option<usize> {
        match self.is_backward {
            false => self.forward.pop().map(|Reverse((_, number))| number),
            true => self.backward.pop().map(|(_, Reverse(number))| number),
        }
    }
}
