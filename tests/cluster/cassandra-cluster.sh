#!/usr/bin/env bash
# cassandra-cluster.sh - a real Apache Cassandra cluster on this machine, for tests.
#
#   cassandra-cluster.sh up [N]        start (create if needed) a cluster of N nodes (default 1)
#   cassandra-cluster.sh down          stop every node by pid (data is kept; `up` brings it back)
#   cassandra-cluster.sh wipe          down, then delete data, logs and configuration (jars are kept)
#   cassandra-cluster.sh status        one line per node; exit 0 only if all of them answer CQL
#   cassandra-cluster.sh start I       start node I (1-based) and wait until it answers CQL
#   cassandra-cluster.sh stop I        stop node I in an orderly way (SIGTERM)
#   cassandra-cluster.sh kill I        SIGKILL node I (crash test)
#   cassandra-cluster.sh pause I | resume I    SIGSTOP / SIGCONT node I (hang test)
#   cassandra-cluster.sh cut I | heal  part node I from the other nodes, clients still reach it (needs CASS_NETNS)
#   cassandra-cluster.sh add           bootstrap one more node into the running cluster (streams data)
#   cassandra-cluster.sh nodetool I .. run nodetool against node I
#   cassandra-cluster.sh env           print the contact points, and the CA, as shell assignments
#   cassandra-cluster.sh jars          only fetch the jars
#
# Environment; what a cluster was created with is remembered in $CASS_DIR/cluster.conf:
#   CASS_DIR       (required) directory that holds everything: jars, data, logs, pids
#   CASS_VERSION   cassandra-all version                      (5.0.9)
#   CASS_JARS      directory of the jars, may be shared       ($CASS_DIR/jars-$CASS_VERSION)
#   CASS_NET       first three octets of the node addresses   (127.0.0; within 127/8, or any with CASS_NETNS)
#   CASS_NETNS     1: each node in a network namespace of its own behind a bridge; needs root  (0)
#   CASS_AUTH      1: users and passwords, first cassandra/cassandra                           (0)
#   CASS_TLS       1: clients must encrypt; the CA is $CASS_DIR/tls/ca.pem                     (0)
#   CASS_PATIENCE  how long a node waits for others in a request                               (10s)
#   CASS_HEAP      JVM heap of a node                         (512M)
#   CASS_SYNC      commit log: periodic | group | batch       (periodic)
#   CASS_JAVA      java binary (JDK 11 or 17)                 (java)
#   CASS_TIMEOUT   seconds to wait for a node's CQL port      (180)
#   CASS_JVM_EXTRA further JVM options
#
# Every node listens on its own address $CASS_NET.<i> and all share one CQL port, because drivers
# take the port of the contact point for the nodes they discover. Free ports are looked for once,
# when the cluster is created, and remembered. Needs: bash, java, od, flock; mvn for the first use.
set -euo pipefail

die() { echo "cassandra-cluster: $*" >&2; exit 1; }
say() { echo "cassandra-cluster: $*" >&2; }

[ -n "${CASS_DIR:-}" ] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2; die "CASS_DIR is not set"; }
mkdir -p "$CASS_DIR"; CASS_DIR=$(cd "$CASS_DIR" && pwd)
VERSION=${CASS_VERSION:-5.0.9}
JARS=${CASS_JARS:-$CASS_DIR/jars-$VERSION}
NET=${CASS_NET:-127.0.0}
HEAP=${CASS_HEAP:-512M}
SYNC=${CASS_SYNC:-periodic}
JAVA=${CASS_JAVA:-java}
TIMEOUT=${CASS_TIMEOUT:-180}
NETNS=${CASS_NETNS:-0}
AUTH=${CASS_AUTH:-0}
TLS=${CASS_TLS:-0}
PATIENCE=${CASS_PATIENCE:-10s}
TOKENS=4                                   # tokens of each node
STATE=$CASS_DIR/cluster.conf               # NODES NET NETNS AUTH TLS CQL_PORT STORAGE_PORT JMX_BASE
[[ $NET =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "CASS_NET=$NET is not three octets"
[[ $NETNS = 1 || $NET = 127.* ]] || die "CASS_NET=$NET lies outside of 127/8, which needs CASS_NETNS=1"
[[ $SYNC =~ ^(periodic|group|batch)$ ]] || die "CASS_SYNC=$SYNC: periodic, group or batch"

# ---------------------------------------------------------------- jars
fetch_jars() {
  [ -f "$JARS/.complete" ] && return 0
  command -v mvn >/dev/null || die "mvn is needed once, to fetch cassandra-all $VERSION into $JARS"
  say "fetching org.apache.cassandra:cassandra-all:$VERSION (about 70 MB) into $JARS"
  mkdir -p "$JARS"
  local w=$CASS_DIR/fetch; mkdir -p "$w"
  cat >"$w/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>cassandra-jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>$VERSION</version></dependency>
  </dependencies>
</project>
POM
  (cd "$w" && mvn -q -B ${CASS_M2:+-Dmaven.repo.local="$CASS_M2"} \
      org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
      -DincludeScope=runtime -DoutputDirectory="$JARS") >"$w/mvn.log" 2>&1 \
    || { tail -20 "$w/mvn.log" >&2; die "mvn could not fetch the jars (log: $w/mvn.log)"; }
  ls "$JARS"/cassandra-all-*.jar >/dev/null 2>&1 || die "no cassandra-all jar in $JARS"
  touch "$JARS/.complete"
}

check_java() {
  local v; v=$("$JAVA" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1) || true
  case $v in 11|17) ;; *) die "JDK 11 or 17 is needed, '$JAVA' is '${v:-not found}'";; esac
}

# ---------------------------------------------------------------- small helpers
addr()    { echo "$NET.$1"; }
ndir()    { echo "$CASS_DIR/node$1"; }
load()    { [ -f "$STATE" ] || die "there is no cluster in $CASS_DIR (run: up N)"; . "$STATE"; }
listens() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# A CQL OPTIONS request (native protocol v4); a node that serves clients answers SUPPORTED (06).
answers() {
  local r
  if [ "$TLS" = 1 ]; then listens "$1" "$CQL_PORT"; return; fi # it would answer no one who speaks plainly
  r=$( { exec 3<>"/dev/tcp/$1/$CQL_PORT" && printf '\x04\x00\x00\x00\x05\x00\x00\x00\x00' >&3 &&
         timeout 3 head -c 5 <&3 | od -An -tx1; } 2>/dev/null ) || true
  [ "${r//[[:space:]]/}" = 8400000006 ]
}

# The pid of node I if that very process still runs (start time guards against a reused pid).
pid_of() {
  local f p s; f=$(ndir "$1")/pid; [ -f "$f" ] || return 1
  read -r p s <"$f" || return 1
  [ -d "/proc/$p" ] && [ "$(start_of "$p")" = "$s" ] || return 1
  echo "$p"
}
start_of() { local l; l=$(cat "/proc/$1/stat" 2>/dev/null) || return 0; l=${l##*) }; set -- $l; echo "${20}"; }

pick_ports() {                       # $1 = nodes; sets CQL_PORT STORAGE_PORT JMX_BASE
  local k i ok
  if [ "$NETNS" = 1 ]; then CQL_PORT=9042 STORAGE_PORT=7000 JMX_BASE=17199; return 0; fi
  for k in $(seq 0 10 490); do
    CQL_PORT=$((9042 + k)) STORAGE_PORT=$((7000 + k)) JMX_BASE=$((17199 + k)) ok=1
    for i in $(seq 1 "$1"); do
      if listens "$(addr "$i")" $CQL_PORT || listens "$(addr "$i")" $STORAGE_PORT ||
         listens 127.0.0.1 $((JMX_BASE + i)); then ok=0; break; fi
    done
    [ $ok = 1 ] && return 0
  done
  die "no free ports on $NET.1..$1 (tried 9042..9532)"
}

# ---------------------------------------------------------------- namespaces and certificates
# A bridge with the address $NET.254 for clients; node I has $NET.I behind it, in a namespace of its own.
bridge()  { echo "k${NET//./-}"; }
space()   { echo "k${NET//./-}-$1"; }
inside()  { if [ "$NETNS" = 1 ]; then INSIDE=(ip netns exec "$(space "$1")"); else INSIDE=(); fi; } # a prefix: a function would be a process of its own

lay_wires() {
  [ "$NETNS" = 1 ] || return 0
  local b i n; b=$(bridge)
  ip link show "$b" >/dev/null 2>&1 || {
    ip link add "$b" type bridge && ip addr add "$NET.254/24" dev "$b" && ip link set "$b" up; } || die "cannot make the bridge $b"
  for i in $(seq 1 "$NODES"); do
    n=$(space "$i")
    ip netns list | grep -q "^$n\b" && continue
    ip netns add "$n"
    ip link add "v$n" type veth peer name eth0 netns "$n"
    ip link set "v$n" master "$b" up
    ip -n "$n" addr add "$(addr "$i")/24" dev eth0
    ip -n "$n" link set eth0 up
    ip -n "$n" link set lo up
  done
}

roll_up_wires() {
  [ "$NETNS" = 1 ] || return 0
  local i
  for i in $(seq 1 "$NODES"); do ip netns del "$(space "$i")" 2>/dev/null || true; done
  ip link del "$(bridge)" 2>/dev/null || true
}

cut() {                              # node $1 and the others no longer hear each other
  [ "$NETNS" = 1 ] || die "cut needs a cluster that was created with CASS_NETNS=1"
  local i
  for i in $(seq 1 "$NODES"); do
    [ "$i" = "$1" ] && continue
    ip -n "$(space "$i")" route replace blackhole "$(addr "$1")"
    ip -n "$(space "$1")" route replace blackhole "$(addr "$i")"
  done
}

heal() {
  [ "$NETNS" = 1 ] || return 0
  local i j
  for i in $(seq 1 "$NODES"); do for j in $(seq 1 "$NODES"); do
    ip -n "$(space "$i")" route del blackhole "$(addr "$j")" 2>/dev/null || true
  done; done
}

# A certificate authority, and a certificate of it for the addresses of all nodes.
certificates() {
  [ "$TLS" = 1 ] || return 0
  local d=$CASS_DIR/tls tool i san=dns:localhost; tool=$(dirname "$(command -v "$JAVA")")/keytool
  [ -f "$d/ca.pem" ] && return 0
  [ -x "$tool" ] || tool=keytool
  mkdir -p "$d"
  for i in $(seq 1 9); do san+=",ip:$(addr "$i")"; done
  local all=(-storetype PKCS12 -storepass loopback)
  "$tool" -genkeypair -alias ca -dname CN=loopback-ca -keyalg EC -ext bc:c -validity 3650 -keystore "$d/ca.p12" "${all[@]}"
  "$tool" -exportcert -rfc -alias ca -keystore "$d/ca.p12" "${all[@]}" >"$d/ca.pem.new"
  "$tool" -genkeypair -alias node -dname CN=node -keyalg EC -validity 3650 -keystore "$d/node.p12" "${all[@]}"
  "$tool" -certreq -alias node -keystore "$d/node.p12" "${all[@]}" |
    "$tool" -gencert -rfc -alias ca -ext "san=$san" -validity 3650 -keystore "$d/ca.p12" "${all[@]}" >"$d/node.pem"
  "$tool" -importcert -noprompt -alias ca -file "$d/ca.pem.new" -keystore "$d/node.p12" "${all[@]}"
  "$tool" -importcert -noprompt -alias node -file "$d/node.pem" -keystore "$d/node.p12" "${all[@]}"
  mv "$d/ca.pem.new" "$d/ca.pem"
} 2>>"$CASS_DIR/keytool.log"

# ---------------------------------------------------------------- configuration of a node
tokens() {                           # evenly spread tokens of node $1 of $2
  local slots=$(( $2 * TOKENS )) step t out="" k
  step=$(( (9223372036854775807 / slots) * 2 ))
  for ((k = 0; k < TOKENS; k++)); do
    t=$(( -9223372036854775807 + (k * $2 + $1 - 1) * step ))
    out+="${out:+,}$t"
  done
  echo "$out"
}

configure() {                        # $1 = node, $2 = nodes, $3 = fixed | bootstrap
  local d a sync; d=$(ndir "$1"); a=$(addr "$1")
  mkdir -p "$d/conf" "$d/data" "$d/commitlog" "$d/hints" "$d/caches" "$d/cdc" "$d/tmp" "$d/logs"
  case $SYNC in
    periodic) sync=$'commitlog_sync: periodic\ncommitlog_sync_period: 10000ms';;
    group)    sync=$'commitlog_sync: group\ncommitlog_sync_group_window: 5ms';;
    batch)    sync='commitlog_sync: batch';;
  esac
  cat >"$d/conf/cassandra.yaml" <<YAML
cluster_name: loopback
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
num_tokens: $TOKENS
$(if [ "$3" = fixed ]; then echo "initial_token: $(tokens "$1" "$2")"; else echo "allocate_tokens_for_local_replication_factor: 3"; fi)
auto_bootstrap: $(if [ "$3" = fixed ]; then echo false; else echo true; fi)
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "$(addr 1):$STORAGE_PORT"
listen_address: $a
rpc_address: $a
storage_port: $STORAGE_PORT
native_transport_port: $CQL_PORT
start_native_transport: true
data_file_directories: [ "$d/data" ]
commitlog_directory: $d/commitlog
hints_directory: $d/hints
saved_caches_directory: $d/caches
cdc_raw_directory: $d/cdc
$sync
paxos_variant: v2
commitlog_segment_size: 32MiB
commitlog_total_space: 256MiB
concurrent_reads: 16
concurrent_writes: 16
concurrent_counter_writes: 4
concurrent_compactors: 1
compaction_throughput: 32MiB/s
memtable_heap_space: 96MiB
memtable_offheap_space: 64MiB
memtable_flush_writers: 1
file_cache_size: 32MiB
networking_cache_size: 32MiB
key_cache_size: 8MiB
counter_cache_size: 0MiB
native_transport_max_threads: 32
hinted_handoff_enabled: true
max_hint_window: 3h
dynamic_snitch: false
auto_snapshot: false
disk_failure_policy: stop
commit_failure_policy: stop
internode_compression: none
read_request_timeout: $PATIENCE
range_request_timeout: $PATIENCE
write_request_timeout: $PATIENCE
cas_contention_timeout: $PATIENCE
request_timeout: $PATIENCE
$(if [ "$AUTH" = 1 ]; then printf 'authenticator: PasswordAuthenticator\nauthorizer: CassandraAuthorizer\n'; fi)
client_encryption_options:
  enabled: $(if [ "$TLS" = 1 ]; then echo true; else echo false; fi)
  optional: false
  keystore: $CASS_DIR/tls/node.p12
  keystore_password: loopback
  store_type: PKCS12
YAML
  cat >"$d/conf/logback.xml" <<XML
<configuration scan="false">
  <appender name="F" class="ch.qos.logback.core.rolling.RollingFileAppender">
    <file>$d/logs/system.log</file>
    <rollingPolicy class="ch.qos.logback.core.rolling.FixedWindowRollingPolicy">
      <fileNamePattern>$d/logs/system.%i.log</fileNamePattern><minIndex>1</minIndex><maxIndex>2</maxIndex>
    </rollingPolicy>
    <triggeringPolicy class="ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy"><maxFileSize>20MB</maxFileSize></triggeringPolicy>
    <encoder><pattern>%-5level [%thread] %date{ISO8601} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="F"/></root>
</configuration>
XML
}

module_options() {
  local m
  for m in java.base/jdk.internal.misc java.base/jdk.internal.ref java.base/java.lang.ref \
           java.base/sun.nio.ch java.management.rmi/com.sun.jmx.remote.internal.rmi \
           java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.rmi/sun.rmi.transport.tcp \
           java.sql/java.sql jdk.unsupported/sun.misc jdk.compiler/com.sun.tools.javac.file \
           jdk.attach/sun.tools.attach; do echo "--add-exports=$m=ALL-UNNAMED"; done
  for m in java.base/java.lang.module java.base/jdk.internal.loader java.base/jdk.internal.ref \
           java.base/jdk.internal.reflect java.base/jdk.internal.math java.base/jdk.internal.module \
           java.base/jdk.internal.util.jar jdk.management/com.sun.management.internal \
           java.base/sun.nio.ch java.base/java.io java.base/java.nio java.base/java.lang.reflect \
           java.base/java.lang java.base/java.util java.base/java.util.concurrent \
           java.base/java.util.concurrent.atomic jdk.compiler/com.sun.tools.javac; do
    echo "--add-opens=$m=ALL-UNNAMED"; done
}

# ---------------------------------------------------------------- processes
launch() {                           # start node $1 without waiting
  local d p; d=$(ndir "$1")
  if p=$(pid_of "$1"); then say "node $1 runs already (pid $p)"; return 0; fi
  [ -f "$d/conf/cassandra.yaml" ] || die "node $1 was never configured"
  listens "$(addr "$1")" "$CQL_PORT" && die "$(addr "$1"):$CQL_PORT is taken by another process"
  local opts=( -Xms"$HEAP" -Xmx"$HEAP" -Xss256k -XX:+UseSerialGC -XX:MaxDirectMemorySize=256M
    -XX:ReservedCodeCacheSize=96M -XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath="$d/tmp" -XX:+ExitOnOutOfMemoryError
    -Djava.io.tmpdir="$d/tmp" -Djna.tmpdir="$d/tmp" -Duser.home="$d/tmp" -Djava.net.preferIPv4Stack=true
    -Djdk.attach.allowAttachSelf=true -Dio.netty.tryReflectionSetAccessible=true
    -javaagent:"$(ls "$JARS"/jamm-*.jar)"
    -Dcassandra.config="file://$d/conf/cassandra.yaml" -Dlogback.configurationFile="file://$d/conf/logback.xml"
    -Dcassandra.storagedir="$d" -Dcassandra.logdir="$d/logs" -Dcassandra-foreground=yes
    -Dcassandra.jmx.local.port=$((JMX_BASE + $1))
    -Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.ring_delay_ms=3000
    -Dcassandra.consistent.rangemovement=true -Dcassandra.superuser_setup_delay_ms=0 )
  local mods; mapfile -t mods < <(module_options)
  # setsid: the node is its own process group, a Ctrl-C of the caller's terminal does not reach it
  inside "$1"
  "${INSIDE[@]}" setsid "$JAVA" "${opts[@]}" "${mods[@]}" ${CASS_JVM_EXTRA:-} -cp "$d/conf:$JARS/*" \
    org.apache.cassandra.service.CassandraDaemon </dev/null >>"$d/logs/stdout.log" 2>&1 9>&- &
  p=$!
  echo "$p $(start_of $p)" >"$d/pid"
  disown "$p" 2>/dev/null || true
}

await() {                            # wait until node $1 answers CQL
  local d t0=$SECONDS; d=$(ndir "$1")
  until answers "$(addr "$1")"; do
    if ! pid_of "$1" >/dev/null; then
      grep -hE 'ERROR|Exception|rror occurred' "$d/logs/system.log" "$d/logs/stdout.log" 2>/dev/null | tail -8 >&2 || true
      die "node $1 died while starting (logs: $d/logs)"
    fi
    [ $((SECONDS - t0)) -lt "$TIMEOUT" ] || die "node $1 did not answer CQL within $TIMEOUT s (logs: $d/logs)"
    sleep 0.3
  done
}

await_ring() {                       # wait until every node sees every other one up and normal
  local i n t0=$SECONDS
  [ "$NODES" -gt 1 ] || return 0
  for i in $(seq 1 "$NODES"); do
    while :; do
      n=$(nodetool "$i" status 2>/dev/null | grep -c '^UN ') || true
      [ "$n" = "$NODES" ] && break
      [ $((SECONDS - t0)) -lt 90 ] || die "node $i sees only $n of $NODES nodes after 90 s"
      sleep 0.5
    done
  done
}

halt() {                             # $1 = node, $2 = signal
  local p k; p=$(pid_of "$1") || { rm -f "$(ndir "$1")/pid"; return 0; }
  kill -CONT "$p" 2>/dev/null || true
  kill "-$2" "$p"
  for k in $(seq 1 150); do
    pid_of "$1" >/dev/null || { rm -f "$(ndir "$1")/pid"; return 0; }
    sleep 0.2
  done
  say "node $1 (pid $p) ignores SIG$2 for 30 s: SIGKILL"
  kill -KILL "$p" 2>/dev/null || true; sleep 1; rm -f "$(ndir "$1")/pid"
}

node_arg() { [[ ${1:-} =~ ^[1-9][0-9]*$ ]] && [ "$1" -le "$NODES" ] || die "give a node number 1..$NODES"; }

save() { printf 'NODES=%s\nNET=%s\nNETNS=%s\nAUTH=%s\nTLS=%s\nCQL_PORT=%s\nSTORAGE_PORT=%s\nJMX_BASE=%s\n' "$NODES" "$NET" "$NETNS" "$AUTH" "$TLS" "$CQL_PORT" "$STORAGE_PORT" "$JMX_BASE" >"$STATE"; }

show_env() {
  local i list=""
  for i in $(seq 1 "$NODES"); do list+="${list:+,}$(addr "$i"):$CQL_PORT"; done
  echo "CASSANDRA_CONTACT_POINTS=$list"
  [ "$TLS" = 0 ] || echo "CASSANDRA_CA=$CASS_DIR/tls/ca.pem"
}

nodetool() {
  local i=$1 h=$CASS_DIR/tool-home; shift; mkdir -p "$h"
  [ -f "$h/logback.xml" ] || echo '<configuration><root level="OFF"/></configuration>' >"$h/logback.xml"
  local mods; mapfile -t mods < <(module_options)
  inside "$i"
  "${INSIDE[@]}" "$JAVA" -Xmx96M -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.home="$h" -Djava.io.tmpdir="$h" \
    -Dcassandra.config="file://$(ndir "$i")/conf/cassandra.yaml" -Dlogback.configurationFile="file://$h/logback.xml" \
    "${mods[@]}" -cp "$JARS/*" org.apache.cassandra.tools.NodeTool -h 127.0.0.1 -p $((JMX_BASE + i)) "$@"
}

status() {
  local i p bad=0 cql rss
  for i in $(seq 1 "$NODES"); do
    if p=$(pid_of "$i"); then
      rss=$(awk '/VmRSS/{printf "%d", $2/1024}' "/proc/$p/status")
      if answers "$(addr "$i")"; then cql=yes; else cql=no; bad=1; fi
      echo "node $i  $(addr "$i"):$CQL_PORT  pid $p  rss ${rss}MiB  cql $cql"
    else echo "node $i  $(addr "$i"):$CQL_PORT  down"; bad=1; fi
  done
  return $bad
}

up() {
  local n=${1:-} i t0=$SECONDS
  check_java; fetch_jars
  if [ -f "$STATE" ]; then
    . "$STATE"
    [ -z "$n" ] || [ "$n" = "$NODES" ] || die "the cluster in $CASS_DIR has $NODES nodes, not $n (use add, or wipe first)"
  else
    n=${n:-1}; [[ $n =~ ^[1-9][0-9]?$ ]] || die "N must be 1..99, not '$n'"
    NODES=$n; pick_ports "$n"; certificates
    for i in $(seq 1 "$n"); do configure "$i" "$n" fixed; done
    save
  fi
  lay_wires
  # tokens are fixed and disjoint, so nothing has to be bootstrapped one after the other
  launch 1
  for i in $(seq 2 "$NODES"); do sleep 1; launch "$i"; done
  for i in $(seq 1 "$NODES"); do await "$i"; done
  await_ring
  say "$NODES node(s) answer CQL after $((SECONDS - t0)) s"
  show_env
}

exec 9>"$CASS_DIR/.lock"; flock -w 300 9 || die "another cassandra-cluster.sh holds $CASS_DIR/.lock"
case ${1:-} in
  jars)   check_java; fetch_jars; echo "$JARS";;
  up)     up "${2:-}";;
  down)   load; for i in $(seq 1 "$NODES"); do halt "$i" TERM & done; wait; say "stopped";;
  wipe)   if [ -f "$STATE" ]; then load; for i in $(seq 1 "$NODES"); do halt "$i" KILL & done; wait
            for i in $(seq 1 "$NODES"); do rm -rf "$(ndir "$i")"; done; roll_up_wires; rm -rf "$STATE" "$CASS_DIR/tls"; fi; say "wiped";;
  status) load; status;;
  start)  load; node_arg "${2:-}"; launch "$2"; await "$2";;
  stop)   load; node_arg "${2:-}"; halt "$2" TERM;;
  kill)   load; node_arg "${2:-}"; halt "$2" KILL;;
  pause)  load; node_arg "${2:-}"; p=$(pid_of "$2") || die "node $2 is down"; kill -STOP "$p";;
  resume) load; node_arg "${2:-}"; p=$(pid_of "$2") || die "node $2 is down"; kill -CONT "$p";;
  cut)    load; node_arg "${2:-}"; cut "$2";;
  heal)   load; heal;;
  add)    load; i=$((NODES + 1)); NODES=$i; lay_wires; NODES=$((i - 1)); configure "$i" "$i" bootstrap; launch "$i"; await "$i"; NODES=$i; save; say "node $i joined"; show_env;;
  nodetool) load; node_arg "${2:-}"; shift; i=$1; shift; nodetool "$i" "$@";;
  env)    load; show_env;;
  *)      sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2; exit 2;;
esac
