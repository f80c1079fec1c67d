"""The tellers of a rebalance are the coordinator, the members, their records and their
effects. Each tells its own events of the one story.
"""

from minikafka.theatre.pictures.rebalance.group import Group
from minikafka.theatre.play import Handler, Story


class Teller:
    """see_<kind>(event, detail) moves the group on, and returns the words for it."""

    def __init__(self, story: Story, group: Group) -> None:
        self.story = story
        self.group = group
        self.cast = group.cast

    def handlers(self) -> dict[str, Handler]:
        """The methods that handle events, by the kind of event."""
        names = [name for name in dir(self) if name.startswith("see_")]
        return {name.removeprefix("see_"): getattr(self, name) for name in names}
