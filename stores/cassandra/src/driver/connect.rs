//! Making a session.

use std::sync::Arc;
use std::time::Duration;

use keyloom_store::Error;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use scylla::client::execution_profile::{ExecutionProfile, ExecutionProfileHandle};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::load_balancing::DefaultPolicy;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::policies::speculative_execution::SimpleSpeculativeExecutionPolicy;
use scylla::statement::{Consistency as Level, SerialConsistency};

use crate::config::{Config, Scope, Tls};

use super::ask::{Asker, Patiences};
use super::pin::Pinned;
use super::schema;
use super::statements::Statements;

/// A node that says nothing for so long is asked whether it is there, and given up when it does not answer.
const KEEPALIVE: Duration = Duration::from_secs(5);
/// A node that does not take a connection within this is passed over.
const CONNECT: Duration = Duration::from_secs(5);
/// What may be done more than once is asked of a second and a third node when the first is slow.
const SLOW: Duration = Duration::from_secs(1);

/// How many must agree, and how soon.
pub(super) struct Levels {
    /// How long the first node that is asked may take.
    pub(super) quick: Duration,
    /// For reads that finish or shut out what is undecided.
    pub(super) serial_read: Level,
    /// For conditional writes.
    pub(super) conditional: ExecutionProfileHandle,
}

/// A session on the keyspace, which is made if it is not there, and the keyspace's lease.
pub(super) async fn connect(config: &Config) -> Result<(Asker, Duration), Error> {
    let local = config.scope() == Scope::Local;
    let (quorum, serial, serial_read) = match local {
        true => (Level::LocalQuorum, SerialConsistency::LocalSerial, Level::LocalSerial),
        false => (Level::Quorum, SerialConsistency::Serial, Level::Serial),
    };
    let mut near = DefaultPolicy::builder();
    if let Some(datacenter) = config.datacenter() {
        near = near.prefer_datacenter(datacenter.to_owned()).permit_dc_failover(!local);
    }
    let plain = ExecutionProfile::builder()
        .consistency(quorum)
        .serial_consistency(Some(serial))
        .request_timeout(Some(config.timeout))
        .load_balancing_policy(near.build())
        .speculative_execution_policy(Some(Arc::new(SimpleSpeculativeExecutionPolicy {
            max_retry_count: 2,
            retry_interval: SLOW,
        })))
        .build();
    // Half the time for one attempt and half for more, if it was not done: others rely on its end after that time.
    let half = config.timeout / 2;
    let conditional = plain
        .to_builder()
        .request_timeout(Some(half))
        .load_balancing_policy(Arc::new(Pinned::new(config.datacenter())))
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
        .speculative_execution_policy(None)
        .build()
        .into_handle();
    let mut builder = SessionBuilder::new()
        .known_nodes(config.nodes())
        .keyspaces_to_fetch([config.keyspace()])
        .connection_timeout(CONNECT)
        .keepalive_interval(KEEPALIVE)
        .keepalive_timeout(KEEPALIVE)
        .tcp_nodelay(true)
        .default_execution_profile_handle(plain.into_handle());
    if let Some((user, password)) = config.user() {
        builder = builder.user(user, password);
    }
    if let Some(tls) = config.tls() {
        builder = builder.tls_context(Some(trust(tls)?));
    }
    let session: Session = builder.build().await.map_err(|error| {
        Error::Failed(format!("cannot reach the cluster at {}: {error}", config.nodes().join(", ")).into())
    })?;
    let lease = schema::prepare(&session, config).await?;
    let levels = Levels { quick: SLOW.min(config.timeout), serial_read, conditional };
    let all = Statements::prepare(&session, &levels, config.keyspace())
        .await
        .map_err(|error| Error::Failed(format!("cannot prepare the statements: {error}").into()))?;
    let patience = Patiences { plain: config.patience, conditional: half };
    Ok((Asker { session, all, conditional: levels.conditional, patience }, lease))
}

/// What a node must show, and what we show to it.
fn trust(tls: &Tls) -> Result<Arc<ClientConfig>, Error> {
    let failed = |what: String| Error::Failed(what.into());
    let certificates = |path: &std::path::Path| {
        CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| failed(format!("cannot read certificates from {}: {error}", path.display())))
            .and_then(|all| match all.is_empty() {
                true => Err(failed(format!("there is no certificate in {}", path.display()))),
                false => Ok(all),
            })
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&tls.ca)? {
        roots
            .add(certificate)
            .map_err(|error| failed(format!("a certificate of {}: {error}", tls.ca.display())))?;
    }
    let wrong = |error: rustls::Error| failed(format!("cannot encrypt: {error}"));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(wrong)?
        .with_root_certificates(roots);
    let config = match &tls.own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let own = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| failed(format!("cannot read the key in {}: {error}", key.display())))?;
            builder.with_client_auth_cert(certificates(certificate)?, own).map_err(wrong)?
        }
    };
    Ok(Arc::new(config))
}
