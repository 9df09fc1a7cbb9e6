//! Which node coordinates a conditional write.

use scylla::cluster::{ClusterState, NodeRef};
use scylla::policies::load_balancing::{FallbackPlan, LoadBalancingPolicy, RoutingInfo};
use scylla::routing::Shard;

/// The same replica for all writes of a key, as long as it is there: two nodes that coordinate conditional writes of one
/// key get in each other's way. The driver knows that a statement is conditional only where the server says so, which
/// Cassandra does not.
#[derive(Debug)]
pub(super) struct Pinned {
    datacenter: Option<String>,
}

impl Pinned {
    /// To a replica of this datacenter, if one is given.
    pub(super) fn new(datacenter: Option<&str>) -> Self {
        Self { datacenter: datacenter.map(str::to_owned) }
    }

    fn is_far(&self, node: NodeRef<'_>) -> bool {
        self.datacenter.is_some() && self.datacenter != node.datacenter
    }
}

impl LoadBalancingPolicy for Pinned {
    fn pick<'a>(
        &'a self,
        request: &'a RoutingInfo,
        cluster: &'a ClusterState,
    ) -> Option<(NodeRef<'a>, Option<Shard>)> {
        self.fallback(request, cluster).next()
    }

    fn fallback<'a>(&'a self, request: &'a RoutingInfo, cluster: &'a ClusterState) -> FallbackPlan<'a> {
        let replicas = match (request.table, request.token) {
            (Some(table), Some(token)) => {
                cluster.get_token_endpoints(table.ks_name(), table.table_name(), token)
            }
            _ => Vec::new(),
        };
        let place = |node: NodeRef<'a>| {
            replicas.iter().position(|(replica, _)| replica.host_id == node.host_id).unwrap_or(usize::MAX)
        };
        let mut nodes: Vec<_> = cluster.get_nodes_info().iter().map(|node| (place(node), node)).collect();
        // Whoever is not connected is asked last: it may be back by then.
        nodes.sort_by_key(|(place, node)| (!node.is_connected(), self.is_far(node), *place));
        Box::new(nodes.into_iter().map(|(_, node)| (node, None)))
    }

    fn name(&self) -> String {
        "Pinned".to_owned()
    }
}
