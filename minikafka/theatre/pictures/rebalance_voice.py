"""A rebalance is told by several: the coordinator, the members, and the records that
come and are read. Each has a voice in the one story.
"""

from minikafka.theatre.pictures.rebalance_group import Group
from minikafka.theatre.play import Handler, Story


class Voice:
    """see_<kind>(event, detail) moves the group on, and returns what is told of it."""

    def __init__(self, story: Story, group: Group) -> None:
        self.story = story
        self.group = group
        self.cast = group.cast

    def handlers(self) -> dict[str, Handler]:
        """The methods that handle events, by the kind of event."""
        names = [name for name in dir(self) if name.startswith("see_")]
        return {name.removeprefix("see_"): getattr(self, name) for name in names}
