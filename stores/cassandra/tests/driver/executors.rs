//! The driver is asked from any executor, and dropped in any.

use std::sync::Arc;
use std::time::{Duration, Instant};

use keyloom_cassandra::{Cluster, Consistency, Driver};
use keyloom_store::Wait;
use tokio::runtime::Builder;

use crate::{Case, Outcome, config, driver, key};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("without_a_runtime", without_a_runtime),
        ("within_a_runtime", within_a_runtime),
        ("lives_in_the_runtime_it_is_opened_in", lives_in_the_runtime_it_is_opened_in),
        ("a_runtime_without_sockets_is_an_error", a_runtime_without_sockets_is_an_error),
        ("dropped_within_a_runtime", dropped_within_a_runtime),
        ("dropped_by_its_own_work", dropped_by_its_own_work),
        ("a_statement_that_nobody_waits_for_is_done", a_statement_that_nobody_waits_for_is_done),
    ]
}

fn without_a_runtime() -> Outcome {
    let start = Instant::now();
    driver().sleep(Duration::from_millis(30)).wait();
    assert!(start.elapsed() >= Duration::from_millis(30));
    assert_eq!(driver().cell(&key(), Consistency::Quorum).wait(), Ok(None));
    Ok(())
}

fn within_a_runtime() -> Outcome {
    // One without timers and sockets of its own.
    let runtime = Builder::new_current_thread().build()?;
    let found = runtime.block_on(async {
        driver().sleep(Duration::from_millis(1)).await;
        driver().cell(&key(), Consistency::Serial).await
    });
    assert_eq!(found, Ok(None));
    Ok(())
}

fn lives_in_the_runtime_it_is_opened_in() -> Outcome {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let opened = runtime.spawn(async { Driver::connect(&config("driver", "")).await.expect("a driver") });
    let driver = runtime.block_on(opened)?;
    assert_eq!(driver.cell(&key(), Consistency::Quorum).wait(), Ok(None), "asked from outside");
    let driver = Arc::new(driver);
    let mine = driver.clone();
    let within = runtime.spawn(async move { mine.run(async { 7 }).await });
    assert_eq!(runtime.block_on(within)?, Ok(7));
    drop(runtime);
    let ended = [
        driver.run(async {}).wait().expect_err("nobody is there to do it").to_string(),
        driver.cell(&key(), Consistency::Quorum).wait().expect_err("nobody is there to ask").to_string(),
    ];
    assert!(ended.iter().all(|error| error.contains("has ended: open it anew")), "{ended:?}");
    driver.sleep(Duration::from_secs(60)).wait();
    Ok(())
}

fn a_runtime_without_sockets_is_an_error() -> Outcome {
    let runtime = Builder::new_multi_thread().worker_threads(2).build()?;
    let opened = runtime.spawn(async { Driver::connect(&config("driver", "")).await.map(drop) });
    let error = runtime.block_on(opened)?.expect_err("a driver without sockets").to_string();
    assert!(error.contains("the driver failed") && error.contains("disabled"), "{error}");
    Ok(())
}

fn dropped_within_a_runtime() -> Outcome {
    let runtime = Builder::new_multi_thread().worker_threads(1).build()?;
    let dropped = runtime.spawn(async {
        let driver = Driver::connect(&config("driver", "")).await.expect("a driver");
        let found = driver.cell(&key(), Consistency::Quorum).await;
        drop(driver);
        found
    });
    assert_eq!(runtime.block_on(dropped)?, Ok(None));
    Ok(())
}

fn dropped_by_its_own_work() -> Outcome {
    let driver = Arc::new(Driver::connect(&config("driver", "")).wait()?);
    let (sender, done) = std::sync::mpsc::channel();
    let mine = driver.clone();
    driver.spawn(async move {
        mine.sleep(Duration::from_millis(50)).await;
        let last = Arc::into_inner(mine).is_some();
        // The threads end under this very work: what comes before its next pause is still done.
        let _ = sender.send(last);
    });
    drop(driver);
    assert!(done.recv_timeout(Duration::from_secs(10))?, "the work held the last handle");
    Ok(())
}

fn a_statement_that_nobody_waits_for_is_done() -> Outcome {
    let key = key();
    let version = crate::id();
    {
        let driver = driver();
        let cell = crate::records::plain(version, Some(b"1"));
        let mut write = std::pin::pin!(driver.set_cell(&key, None, &cell));
        let waker = std::task::Waker::noop();
        assert!(write.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
    }
    let start = Instant::now();
    while driver().cell(&key, Consistency::Serial).wait()?.is_none() {
        assert!(start.elapsed() < Duration::from_secs(20), "it was never done");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
