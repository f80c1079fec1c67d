"""Lesson 22: incidents on three simulated brokers with load.

    incident = on_call("hot-key")
    incident.ask("kafka-consumer-groups --describe --group billing")
    incident.cause(2)
    incident.act("kubectl scale deployment/billing --replicas 6")
    incident.wait(minutes=5)
    incident.report()

The brokers and the clients are those of the simulation, so what the tools print is what
the cluster answers. `plans.py` says what an incident is made of; `tools.py` has what
can be asked and done.
"""

from minikafka.course.on_call import plans
from minikafka.course.on_call.incident import Incident


def on_call(name: str) -> Incident:
    """Somebody is called: shows what he or she gets. name: of an incident, or the path
    of a teacher's own file.
    """
    incident = Incident(plans.read(name))
    print(incident.opening())
    return incident
