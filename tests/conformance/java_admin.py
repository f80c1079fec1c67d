"""Java's AdminClient, as Apache Kafka 4.4.0 brings it: what it is asked of configs and
features, and its answers as plain text.
"""

from py4j.protocol import Py4JJavaError

KINDS = ("TOPIC", "BROKER", "BROKER_LOGGER", "CLIENT_METRICS", "GROUP")
TIMEOUT_S = 60


class JavaAdmin:
    """One AdminClient. java: a JavaTools."""

    def __init__(self, java, bootstrap):
        self._jvm = java.gateway.jvm
        config = self._jvm.java.util.HashMap()
        config.put("bootstrap.servers", bootstrap)
        self._admin = self._jvm.org.apache.kafka.clients.admin.Admin.create(config)
        self._classes = self._jvm.org.apache.kafka.clients.admin
        self._resource = self._jvm.org.apache.kafka.common.config.ConfigResource
        self._types = self._jvm.java.lang.Class.forName(
            "org.apache.kafka.common.config.ConfigResource$Type"
        )

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._admin.close()

    def resource(self, kind, name):
        """Kafka's ConfigResource of this type and name."""
        of_kind = self._jvm.java.lang.Enum.valueOf(self._types, kind)
        return self._resource(of_kind, name)

    def said(self, future):
        """What a future holds, or the name and the words of its error."""
        seconds = self._jvm.java.util.concurrent.TimeUnit.SECONDS
        try:
            return future.get(TIMEOUT_S, seconds)
        except Py4JJavaError as error:
            cause = error.java_exception.getCause() or error.java_exception
            return f"{cause.getClass().getSimpleName()}: {cause.getMessage()}"

    def create_topic(self, name):
        topic = self._classes.NewTopic(name, 1, 1)
        made = self._admin.createTopics(self._jvm.java.util.List.of(topic))
        return str(self.said(made.all()))

    def describe_configs(self, kind, name):
        """Config -> what is told of it; or the error."""
        asked = self._jvm.java.util.List.of(self.resource(kind, name))
        options = self._classes.DescribeConfigsOptions().includeSynonyms(True)
        [future] = self._admin.describeConfigs(asked, options).values().values()
        found = self.said(future)
        if isinstance(found, str):
            return found
        told = {}
        for entry in self._jvm.java.util.ArrayList(found.entries()):
            synonyms = sorted(str(each) for each in entry.synonyms())
            flags = entry.isSensitive(), entry.isReadOnly(), entry.isDefault()
            what = entry.value(), str(entry.source()), str(entry.type())
            told[entry.name()] = [*what, *flags, *synonyms]
        return told

    def alter_configs(self, kind, name, operation, config, value, only_check=False):
        """incrementalAlterConfigs of one config: done, or the error."""
        of_operation = self._jvm.java.lang.Class.forName(
            "org.apache.kafka.clients.admin.AlterConfigOp$OpType"
        )
        op_type = self._jvm.java.lang.Enum.valueOf(of_operation, operation)
        entry = self._classes.ConfigEntry(config, value)
        change = self._classes.AlterConfigOp(entry, op_type)
        changes = self._jvm.java.util.HashMap()
        of_one = self._jvm.java.util.List.of(change)
        changes.put(self.resource(kind, name), of_one)
        options = self._classes.AlterConfigsOptions().validateOnly(only_check)
        return str(
            self.said(self._admin.incrementalAlterConfigs(changes, options).all())
        )

    def list_config_resources(self, *kinds):
        """Which resources of these kinds have configs; no kind: of all."""
        wanted = self._jvm.java.util.HashSet()
        for kind in kinds:
            wanted.add(self._jvm.java.lang.Enum.valueOf(self._types, kind))
        options = self._classes.ListConfigResourcesOptions()
        found = self.said(self._admin.listConfigResources(wanted, options).all())
        if isinstance(found, str):
            return found
        return sorted(map(str, self._jvm.java.util.ArrayList(found)))

    def list_client_metrics_resources(self):
        found = self.said(self._admin.listClientMetricsResources().all())
        return (
            found
            if isinstance(found, str)
            else sorted(map(str, self._jvm.java.util.ArrayList(found)))
        )

    def describe_features(self):
        """Feature -> its range and its level."""
        found = self.said(self._admin.describeFeatures().featureMetadata())
        if isinstance(found, str):
            return found
        told = {}
        for name, versions in found.supportedFeatures().items():
            told[name] = [str(versions), str(found.finalizedFeatures().get(name))]
        return told

    def update_features(self, name, level, kind="UPGRADE", only_check=False):
        """updateFeatures of one feature: done, or the error."""
        kinds = self._jvm.java.lang.Class.forName(
            "org.apache.kafka.clients.admin.FeatureUpdate$UpgradeType"
        )
        of_kind = self._jvm.java.lang.Enum.valueOf(kinds, kind)
        short = self._jvm.java.lang.Short.valueOf(str(level))
        updates = self._jvm.java.util.HashMap()
        updates.put(name, self._classes.FeatureUpdate(short, of_kind))
        options = self._classes.UpdateFeaturesOptions().validateOnly(only_check)
        return str(self.said(self._admin.updateFeatures(updates, options).all()))
