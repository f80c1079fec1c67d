"""Lesson 15, exercise 2: a tool for each of eight stories."""

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
GROUP, SHARE, QUEUE = "consumer group", "share group", "queue"
FIRST = {
    "thumbnails": SHARE,
    "transfers": GROUP,
    "emails": QUEUE,
    "audit": SHARE,
    "reprocessing": SHARE,
    "prices": QUEUE,
    "retries": GROUP,
    "clicks": GROUP,
}
SECOND = FIRST | {
    "thumbnails": QUEUE,
    "emails": SHARE,
    "audit": GROUP,
    "retries": QUEUE,
}


def but(story, tool):
    """All stories answered right, except this one."""
    return FIRST | {story: tool}


ANSWERS.right(2)(FIRST)
ANSWERS.right(2)(SECOND)
ANSWERS.right(2)(dict(reversed(SECOND.items())))

for answer, words in (
    (but("thumbnails", GROUP), "waited for 20 s behind picture 1 in its partition"),
    (but("transfers", SHARE), "transfers with a share group: order broken: alice 2"),
    (but("transfers", QUEUE), "transfers with a queue: order broken: alice 2"),
    (but("emails", GROUP), "mail 3 has killed a worker 10 times"),
    (but("audit", QUEUE), "the new team saw 4 of 12 events"),
    (but("reprocessing", GROUP), "6 of 8 workers have no partition"),
    (but("reprocessing", QUEUE), "none of the 24 orders came again"),
    (but("prices", GROUP), "it had to join a group first. 5 groups are left over"),
    (but("prices", SHARE), "prices with a share group: caller 1 waited 5.03 s"),
    (but("retries", SHARE), "job 3 was tried 5 times within"),
    (but("clicks", SHARE), "clicks with a share group: the 4 clicks of ada"),
    (but("clicks", QUEUE), "clicks with a queue: the 4 clicks of ada"),
    (dict.fromkeys(FIRST, GROUP), "thumbnails with a consumer group"),
    (dict.fromkeys(FIRST, SHARE), "transfers with a share group"),
    (dict.fromkeys(FIRST, QUEUE), "transfers with a queue"),
    (but("audit", "kafka"), "audit has 'kafka', which isn't one of the three"),
    (but("audit", [GROUP, SHARE]), "which isn't one of the three"),
    (
        FIRST | {"payments": QUEUE},
        "'payments' isn't one of the stories: thumbnails, transfers",
    ),
    (list(FIRST.values()), "my_tools should be a dictionary"),
    ("queue", "my_tools should be a dictionary"),
    ({"thumbnails": QUEUE}, "So far, so good: my_tools.transfers is the next to write"),
):
    ANSWERS.wrong(2, words)(answer)
