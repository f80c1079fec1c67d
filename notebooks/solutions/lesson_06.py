"""Lesson 06, rebalancing: one solution an exercise. Each part replaces the stub in the
solved edition.
"""

from minikafka import lesson


# %% exercise 1
def hand_over(target, members):
    """The part of the target that its member has already, or that nobody has."""
    owner = {
        partition: name
        for name, member in members.items()
        for partition in member.owned
    }
    return {
        name: [partition for partition in share if owner.get(partition, name) == name]
        for name, share in target.items()
    }


# %% exercise 2
def my_sticky(members, partitions):
    """Sticky: each member keeps what it had, up to a fair share; what is free goes to
    the member that has least.
    """
    every = [
        (topic, number)
        for topic, count in partitions.items()
        for number in range(count)
    ]
    owner = {}
    for name in sorted(members, key=lambda name: members[name].generation):
        # the latest generation comes last, and wins
        owner.update(dict.fromkeys(members[name].owned, name))
    had = {
        name: [partition for partition in every if owner.get(partition) == name]
        for name in members
    }
    # each member gets `fair`, and `extra` of them one more
    fair, extra = divmod(len(every), len(members))
    shares = {}
    # those that had most may keep one more
    for name in sorted(members, key=lambda name: -len(had[name])):
        keeps = fair + (len(had[name]) > fair and extra > 0)
        extra -= keeps > fair
        shares[name] = had[name][:keeps]
    free = set(every).difference(*shares.values())
    for partition in sorted(free):
        least = min(shares, key=lambda name: len(shares[name]))
        shares[least].append(partition)
    return shares


# %% exit ticket
lesson("06").exit_ticket(3, 2, 1, 2, 2)
