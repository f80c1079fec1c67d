"""The colours by name, each with a light and a dark value; and the icon of pages."""

# player.css holds the same names; a test compares them.
PALETTE = {
    "paper": ("#ffffff", "#1b1f24"),
    "wash": ("#f6f8fa", "#252b32"),
    "cell": ("#dfe5ea", "#3a434d"),
    "rule": ("#8a949e", "#626d7a"),
    "chip": ("#d8dee4", "#414b56"),
    "good": ("#dafbe1", "#1d4a35"),
    "ink": ("#1b1f24", "#e9edf1"),
    "quiet": ("#57606a", "#a9b3be"),
    "gone": ("#69737e", "#8f9aa6"),
    "actor1": ("#0072B2", "#4ba6dd"),
    "actor2": ("#c98200", "#f0b23a"),
    "actor3": ("#00795a", "#2fb48d"),
    "actor4": ("#8f3f7f", "#cf86bf"),
    "actor5": ("#3f97cf", "#a9dcf7"),
    "actor6": ("#6b5b2a", "#b8a56a"),
    "on1": ("#ffffff", "#101418"),
    "on2": ("#1b1f24", "#101418"),
    "on3": ("#ffffff", "#101418"),
    "on4": ("#ffffff", "#101418"),
    "on5": ("#1b1f24", "#101418"),
    "on6": ("#ffffff", "#101418"),
    "trouble": ("#b3470a", "#ff9b6b"),
    "said": ("#fff8e6", "#322c1a"),
    "saidline": ("#e3c77a", "#77642f"),
}

# Three records of a log, in a browser's tab: an address that fetches nothing.
_ICON_BOXES = "".join(
    f"%3Crect x='{x}' y='5' width='4' height='6' rx='1' fill='%23{colour[1:]}'/%3E"
    for x, colour in (
        (0.5, PALETTE["actor1"][0]),
        (6, PALETTE["actor2"][0]),
        (11.5, PALETTE["actor3"][0]),
    )
)
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'"
    f" viewBox='0 0 16 16'%3E{_ICON_BOXES}%3C/svg%3E"
)
