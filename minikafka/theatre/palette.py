"""The colours by name, each with a light and a dark value."""

# player.css holds the same names; a test compares them.
PALETTE = {
    "paper": ("#ffffff", "#1b1f24"),
    "wash": ("#f6f8fa", "#252b32"),
    "cell": ("#dfe5ea", "#3a434d"),
    "rule": ("#c8d1da", "#4d5763"),
    "chip": ("#d8dee4", "#414b56"),
    "good": ("#dafbe1", "#1d4a35"),
    "ink": ("#1b1f24", "#e9edf1"),
    "quiet": ("#57606a", "#a9b3be"),
    "gone": ("#69737e", "#8f9aa6"),
    "actor1": ("#0072B2", "#4ba6dd"),
    "actor2": ("#E69F00", "#f0b23a"),
    "actor3": ("#00795a", "#2fb48d"),
    "actor4": ("#8f3f7f", "#cf86bf"),
    "actor5": ("#7cc4ee", "#a9dcf7"),
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
