"""Lesson 11's checks, beside test_every_exercise.py and wrong_answers/: images of real
logs, and of a leader that is named again.
"""

import pytest

from minikafka.cluster.metadata import Image, MetadataRecord
from minikafka.course.experiments.lesson_11_runs import (
    five_brokers,
    image_of,
    metadata_log,
)
from minikafka.course.lessons import lesson
from tests.course.answers import verdict

pytestmark = pytest.mark.slow

CHECKS = lesson("11")._module


def test_what_runs_in_the_lesson_until_the_exercise_is_solved_is_right_too():
    assert verdict("11", 2, image_of).right


def as_image(image):
    """A broker's image, in the form of the exercise."""
    brokers = {
        broker.broker_id: "fenced" if broker.fenced else "unfenced"
        for broker in image.brokers.values()
    }
    states = {
        (topic, number): {
            "leader": each.leader,
            "leader_epoch": each.leader_epoch,
            "isr": list(each.isr),
        }
        for topic, number, each in image.all_partitions()
    }
    return {"brokers": brokers, "partitions": states}


def test_from_a_real_log_the_image_is_that_of_the_brokers():
    with five_brokers() as cluster:
        cluster.crash(4)
        cluster.run(seconds=20)
        cluster.restart(4)
        cluster.create_topic("payments", 2, replication_factor=3)
        cluster.delete_topic("payments")
        cluster.create_topic("payments", replication_factor=2)
        cluster.run(seconds=20)
        log = metadata_log(cluster)
        for process in cluster.brokers.values():
            assert image_of([], log, len(log)) == as_image(process.broker.image)


OF_PARTITIONS = ("TopicRecord", "PartitionRecord", "PartitionChangeRecord")


def test_kip_497_a_change_that_names_a_leader_is_a_new_leadership_even_of_the_same():
    """As minikafka's own image has it."""
    for snapshot, log, high_watermark in CHECKS.NAMED_PARTITIONS.values():
        image = Image()
        logged = [(name, fields) for _, name, fields in log]
        for name, fields in [*snapshot, *logged]:
            if name not in OF_PARTITIONS:
                continue
            all_fields = {"partition_epoch": 0, **fields}
            if name == "PartitionRecord":  # the exercise does without replicas
                all_fields["replicas"] = range(5)
            image.apply(MetadataRecord(name, 0, all_fields))
        found = image_of(snapshot, log, high_watermark)
        assert as_image(image)["partitions"] == found["partitions"]
