"""Every method of Java's AdminClient, called once or twice in one story, and what it
says in the end, as text.
"""

import re

from py4j.protocol import Py4JJavaError

from tests.clients.brokers import until
from tests.conformance.java_admin import JavaAdmin
from tests.conformance.same_answers import MADE_ID

# They ask no broker.
ASK_NOBODY = {
    "close",
    "create",
    "metrics",
    "registerMetricForSubscription",
    "unregisterMetricFromSubscription",
}
MASKS = (
    (re.compile(r"\d+\.\d+\.\d+\.\d+:\d+"), "ADDRESS"),
    (re.compile(r"ADDRESS \(id: \d+"), "ADDRESS (id: NODE"),
    (re.compile(r"(port[=: ]+)\d+"), r"\1PORT"),
    (re.compile(r"/[\w./-]*/[\w.-]+"), "FOLDER"),
    (re.compile(r"((?:total|usable)Bytes=(?:OptionalLong\[)?)\d+"), r"\1BYTES"),
    (re.compile(r"((?:[tT]imestamp|TimeMs)\w*=?(?:OptionalLong\[)?)\d{6,}"), r"\1TIME"),
    (re.compile(r"(Epoch:|highWatermark=|logEndOffset=)\d+"), r"\1OFFSET"),
    (re.compile(r"@[0-9a-f]+"), "@HASH"),
    (re.compile(r"(Local controller |coordinatorId=)\d+"), r"\1NODE"),
    (MADE_ID, "ID"),
)


class EveryMethod(JavaAdmin):
    """answers: what was asked -> what it said."""

    def __init__(self, java, bootstrap, name):
        super().__init__(java, bootstrap)
        self._gateway = java.gateway
        self.name, self.group = name, f"{name}-group"
        self.answers = {}
        self.called = set()

    # -- Java's collections

    def list(self, *items):
        found = self._jvm.java.util.ArrayList()
        for item in items:
            found.add(item)
        return found

    def set(self, *items):
        return self._jvm.java.util.HashSet(self.list(*items))

    def map(self, **items):
        return self.map_of(*items.items())

    def map_of(self, *items):
        found = self._jvm.java.util.HashMap()
        for key, value in items:
            found.put(key, value)
        return found

    def partition(self, number, topic=None):
        return self._jvm.org.apache.kafka.common.TopicPartition(
            topic or self.name, number
        )

    def constant(self, name, value):
        """A constant of one of Kafka's enums, by its class and name."""
        kind = self._jvm.java.lang.Class.forName(f"org.apache.kafka.{name}")
        return self._jvm.java.lang.Enum.valueOf(kind, value)

    def before(self, offset):
        """RecordsToDelete.beforeOffset: its class has two methods of that name."""
        lang = self._jvm.java.lang
        of_class = lang.Class.forName("org.apache.kafka.clients.admin.RecordsToDelete")
        types = self._gateway.new_array(lang.Class, 1)
        types[0] = lang.Long.TYPE
        values = self._gateway.new_array(lang.Object, 1)
        values[0] = lang.Long.valueOf(str(offset))
        return of_class.getMethod("beforeOffset", types).invoke(None, values)

    def no_id(self):
        return self._jvm.org.apache.kafka.common.Uuid(1, 2)

    # -- asking

    def ask_until(self, words, what, method, *args):
        """Asks again until the answer has these words: a broker hears a little later
        what the controller has decided.
        """
        until(lambda: self.ask(what, method, *args) or words in str(self.answers[what]))

    def ask(self, what, method, *args):
        """Keeps all that the result's futures say."""
        self.called.add(method)
        try:
            result = getattr(self._admin, method)(*args)
        except Py4JJavaError as error:
            cause = error.java_exception
            self.answers[what] = {"thrown": cause.getClass().getSimpleName()}
            return
        told = {}
        for getter in result.getClass().getMethods():
            named = getter.getName()
            if getter.getParameterCount():
                continue
            kind = getter.getReturnType().getSimpleName()
            if kind not in ("KafkaFuture", "Map"):
                continue
            found = getattr(result, named)()
            if found is None:
                continue
            told[named] = self._plain(found) if kind == "Map" else self._said(found)
        self.answers[what] = told

    def _plain(self, futures):
        """A Java map of futures as a dict, with their values or what they raised."""
        found = {}
        for entry in self.list(*futures.entrySet()):
            value = entry.getValue()
            is_future = "Future" in value.getClass().getSimpleName()
            found[str(entry.getKey())] = (
                self._said(value) if is_future else self._shown(value)
            )
        return dict(sorted(found.items()))

    def _said(self, future):
        return self._shown(self.said(future))

    def _shown(self, value):
        """As Java prints it; the order of a map's or a set's items means nothing."""
        text = self._jvm.java.util.Objects.toString(value).replace(self.name, "NAME")
        for pattern, word in MASKS:
            text = pattern.sub(word, text)
        return sorted(re.split(r", |[(){}\[\]]", text))


def methods(java):
    """The names of all that ask a broker."""
    admin = java.gateway.jvm.java.lang.Class.forName(
        "org.apache.kafka.clients.admin.Admin"
    )
    return {method.getName() for method in admin.getMethods()} - ASK_NOBODY


def story(admin, produce):
    """From a topic that is made to one that goes. produce: writes five records to a
    partition of a topic.
    """
    of_topics(admin)
    produce(admin.name)
    of_records(admin)
    of_groups(admin)
    of_streams_groups(admin)
    of_share_groups(admin)
    of_the_cluster(admin)
    of_who_may_what(admin)
    of_configs(admin)
    of_transactions(admin)
    gone(admin)


def of_topics(admin):
    classes, name, ask = admin._classes, admin.name, admin.ask
    empty = java_optional(admin)
    on_broker_1 = admin.list(1)
    placed = admin.map_of((0, on_broker_1), (1, on_broker_1))
    ask("new", "createTopics", admin.list(classes.NewTopic(name, placed)))
    ask("there already", "createTopics", admin.list(classes.NewTopic(name, placed)))
    ask("no name", "createTopics", admin.list(classes.NewTopic("a/b", 2, 1)))
    ask("a default", "createTopics", admin.list(new_topic(admin, f"{name}-2", empty)))
    wanted = admin.list(name, "no-such-topic")
    admin.ask_until("leader=", "described", "describeTopics", wanted)
    more = classes.NewPartitions.increaseTo(3, admin.list(on_broker_1))
    ask("more partitions", "createPartitions", admin.map_of((name, more)))
    fewer = classes.NewPartitions.increaseTo(1)
    ask("fewer partitions", "createPartitions", admin.map_of((name, fewer)))


def java_optional(admin):
    return admin._jvm.java.util.Optional.empty()


def new_topic(admin, name, empty):
    return admin._classes.NewTopic(name, empty, empty)


def of_records(admin):
    ask, classes = admin.ask, admin._classes
    first = admin.partition(0)
    admin.ask_until("NAME-2", "topics", "listTopics")
    for spec in ("earliest", "latest", "maxTimestamp"):
        wanted = getattr(classes.OffsetSpec, spec)()
        ask(f"offset {spec}", "listOffsets", admin.map_of((first, wanted)))
    for what, offset in (("deleted", 2), ("deleted too far", 99)):
        ask(what, "deleteRecords", admin.map_of((first, admin.before(offset))))
    ask("log directories", "describeLogDirs", admin.list(1))
    replica = admin._jvm.org.apache.kafka.common.TopicPartitionReplica(admin.name, 0, 1)
    ask("where a replica is", "describeReplicaLogDirs", admin.list(replica))
    elsewhere = admin.map_of((replica, "/no/such/folder"))
    ask("moved", "alterReplicaLogDirs", elsewhere)
    ask("producers", "describeProducers", admin.list(first))


def of_groups(admin):
    ask, group = admin.ask, admin.group
    first = admin.partition(0)
    offset = admin._jvm.org.apache.kafka.clients.consumer.OffsetAndMetadata(3, "mine")
    ask("set", "alterConsumerGroupOffsets", group, admin.map_of((first, offset)))
    ask("offsets", "listConsumerGroupOffsets", group)
    ask("groups", "listGroups")
    ask("consumer groups", "listConsumerGroups")
    ask("a group", "describeConsumerGroups", admin.list(group))
    ask("no group", "describeConsumerGroups", admin.list("no-such-group"))
    ask("a classic group", "describeClassicGroups", admin.list(group))
    ask("no classic group", "describeClassicGroups", admin.list("no-such-group"))
    nobody = admin._classes.RemoveMembersFromConsumerGroupOptions()
    ask("members", "removeMembersFromConsumerGroup", group, nobody)
    ask("not an offset", "deleteConsumerGroupOffsets", group, admin.set(first))
    ask("no group goes", "deleteConsumerGroups", admin.list("no-such-group"))
    ask("a group goes", "deleteConsumerGroups", admin.list(group))


def of_streams_groups(admin):
    ask, group = admin.ask, f"{admin.name}-streams"
    first = admin.partition(0)
    offset = admin._jvm.org.apache.kafka.clients.consumer.OffsetAndMetadata(3)
    spec = admin._classes.ListStreamsGroupOffsetsSpec()
    ask("streams: none", "describeStreamsGroups", admin.list(group))
    ask(
        "streams: set", "alterStreamsGroupOffsets", group, admin.map_of((first, offset))
    )
    ask("streams: offsets", "listStreamsGroupOffsets", admin.map_of((group, spec)))
    ask("streams: no offset", "deleteStreamsGroupOffsets", group, admin.set(first))
    ask("streams: gone", "deleteStreamsGroups", admin.list(group))


def of_share_groups(admin):
    ask, group = admin.ask, f"{admin.name}-share"
    first = admin.partition(0)
    long = admin._jvm.java.lang.Long.valueOf("3")
    spec = admin._classes.ListShareGroupOffsetsSpec()
    ask("share: none", "describeShareGroups", admin.list(group))
    ask("share: set", "alterShareGroupOffsets", group, admin.map_of((first, long)))
    ask("share: one", "describeShareGroups", admin.list(group))
    ask("share: offsets", "listShareGroupOffsets", admin.map_of((group, spec)))
    ask("share: forget", "deleteShareGroupOffsets", group, admin.set(admin.name))
    ask("share: nothing", "deleteShareGroupOffsets", group, admin.set("no-such-topic"))
    ask("share: gone", "deleteShareGroups", admin.list(group))


def of_the_cluster(admin):
    ask, classes = admin.ask, admin._classes
    first, missing = admin.partition(0), admin.partition(9)
    ask("the cluster", "describeCluster")
    ask("the quorum", "describeMetadataQuorum")
    preferred = admin.constant("common.ElectionType", "PREFERRED")
    ask("elected", "electLeaders", preferred, admin.set(first, missing))
    optional = admin._jvm.java.util.Optional
    same = optional.of(classes.NewPartitionReassignment(admin.list(1)))
    ask("reassigned", "alterPartitionReassignments", admin.map_of((first, same)))
    nobody = optional.of(classes.NewPartitionReassignment(admin.list(99)))
    ask("to nobody", "alterPartitionReassignments", admin.map_of((first, nobody)))
    stop = admin.map_of((first, optional.empty()))
    ask("nothing to stop", "alterPartitionReassignments", stop)
    ask("reassignments", "listPartitionReassignments")
    ask("features", "describeFeatures")
    short = admin._jvm.java.lang.Short.valueOf("99")
    upgrade = admin.constant("clients.admin.FeatureUpdate$UpgradeType", "UPGRADE")
    update = classes.FeatureUpdate(short, upgrade)
    ask(
        "a feature",
        "updateFeatures",
        admin.map_of(("metadata.version", update)),
        options(admin, "UpdateFeatures"),
    )
    ask("no broker", "unregisterBroker", 99)
    ask("no controller", "unregisterController", 99)
    ask("a voter comes", "addRaftVoter", 9, admin.no_id(), endpoints(admin))
    ask("a voter goes", "removeRaftVoter", 9, admin.no_id())
    duration = admin._jvm.java.time.Duration.ofSeconds(2)
    ask("told metrics", "clientInstanceId", duration)


def options(admin, of):
    return getattr(admin._classes, f"{of}Options")()


def endpoints(admin):
    return admin.set(admin._classes.RaftVoterEndpoint("CONTROLLER", "localhost", 9999))


def of_who_may_what(admin):
    ask, common = admin.ask, admin._jvm.org.apache.kafka.common
    ask("acls", "describeAcls", common.acl.AclBindingFilter.ANY)
    kind = admin.constant("common.resource.ResourceType", "TOPIC")
    literal = admin.constant("common.resource.PatternType", "LITERAL")
    pattern = common.resource.ResourcePattern(kind, admin.name, literal)
    read = admin.constant("common.acl.AclOperation", "READ")
    allow = admin.constant("common.acl.AclPermissionType", "ALLOW")
    entry = common.acl.AccessControlEntry("User:alice", "*", read, allow)
    binding = common.acl.AclBinding(pattern, entry)
    ask("an acl", "createAcls", admin.list(binding))
    ask("no acl", "deleteAcls", admin.list(common.acl.AclBindingFilter.ANY))
    quota = common.quota
    everything = quota.ClientQuotaFilter.all()
    ask("quotas", "describeClientQuotas", everything)
    alice = quota.ClientQuotaEntity(admin.map(user="alice"))
    rate = getattr(quota, "ClientQuotaAlteration$Op")("producer_byte_rate", 1e6)
    change = quota.ClientQuotaAlteration(alice, admin.list(rate))
    ask("a quota", "alterClientQuotas", admin.list(change))
    admin.ask_until("alice", "quotas now", "describeClientQuotas", everything)
    none = getattr(quota, "ClientQuotaAlteration$Op")("producer_byte_rate", None)
    change = quota.ClientQuotaAlteration(alice, admin.list(none))
    ask("no quota", "alterClientQuotas", admin.list(change))
    classes = admin._classes
    sha = admin.constant("clients.admin.ScramMechanism", "SCRAM_SHA_256")
    info = classes.ScramCredentialInfo(sha, 4096)
    credential = classes.UserScramCredentialUpsertion("alice", info, "secret")
    ask("a credential", "alterUserScramCredentials", admin.list(credential))
    admin.ask_until("alice", "credentials", "describeUserScramCredentials")
    deletion = classes.UserScramCredentialDeletion("alice", sha)
    ask("no credential", "alterUserScramCredentials", admin.list(deletion))
    ask("not again", "alterUserScramCredentials", admin.list(deletion))
    ask("a token", "createDelegationToken")
    ask("tokens", "describeDelegationToken")
    ask("a token renewed", "renewDelegationToken", b"token")
    ask("a token expired", "expireDelegationToken", b"token")


def of_configs(admin):
    """What they are is asked in test_all_configs_java.py."""
    ask, topic = admin.ask, admin.resource("TOPIC", admin.name)
    missing = admin.resource("TOPIC", "no-such-topic")
    ask("no configs", "describeConfigs", admin.list(missing))
    kind = admin.constant("clients.admin.AlterConfigOp$OpType", "SET")
    entry = admin._classes.ConfigEntry("retention.ms", "x")
    change = admin.list(admin._classes.AlterConfigOp(entry, kind))
    ask("a bad one", "incrementalAlterConfigs", admin.map_of((topic, change)))
    ask("resources", "listConfigResources")
    ask("subscriptions", "listClientMetricsResources")


def of_transactions(admin):
    ask = admin.ask
    mine = f"{admin.name}-payments"
    ask("no transaction", "describeTransactions", admin.list(mine))
    ask("fenced", "fenceProducers", admin.list(mine))
    ask("a transaction", "describeTransactions", admin.list(mine))
    ask("transactions", "listTransactions")
    spec = admin._classes.AbortTransactionSpec(
        admin.partition(0), 0, short(admin, 0), 0
    )
    ask("aborted", "abortTransaction", spec)
    ask("ended", "forceTerminateTransaction", mine)


def short(admin, number):
    return admin._jvm.java.lang.Short.valueOf(str(number))


def gone(admin):
    names = admin.list(admin.name, f"{admin.name}-2", "no-such-topic")
    admin.ask("gone", "deleteTopics", names)
