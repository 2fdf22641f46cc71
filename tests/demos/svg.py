#!/usr/bin/env python3
"""Makes a picture of a terminal screen: `tmux capture-pane -e -p | svg.py TITLE > screen.svg`.

Reads text with SGR sequences (colours of 16, 256 and RGB, bold, dim, inverse); looks as docs/review.svg does.
"""
import re
import sys
import unicodedata
from xml.sax.saxutils import escape

COLORS = ["#3b4252", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d0d7de",
          "#8b949e", "#ffa198", "#aff5b4", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff"]
GROUND, TEXT = "#0d1117", "#d0d7de"
WIDE, HIGH = 8.4, 18


def indexed(n):
    if n < 16:
        return COLORS[n]
    if n < 232:
        level = [0, 95, 135, 175, 215, 255]
        n -= 16
        return "#%02x%02x%02x" % (level[n // 36], level[n // 6 % 6], level[n % 6])
    return "#" + "%02x" % (8 + 10 * (n - 232)) * 3


def sgr(state, codes):
    codes = [int(code or 0) for code in re.split("[;:]", codes)]
    while codes:
        code = codes.pop(0)
        if code == 0:
            state.clear()
        elif code in (1, 2, 7):
            state[code] = True
        elif code in (22, 27):
            [state.pop(key, None) for key in ((1, 2) if code == 22 else (7,))]
        elif code in (38, 48):
            how = codes.pop(0)
            state[code] = indexed(codes.pop(0)) if how == 5 else "#%02x%02x%02x" % tuple(codes[:3])
            codes = codes[3:] if how == 2 else codes
        elif code in (39, 49):
            state.pop(code - 1, None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            state[38] = COLORS[code - 30 if code < 90 else code - 82]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            state[48] = COLORS[code - 40 if code < 100 else code - 92]


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def main():
    lines, state, rows = sys.stdin.read().rstrip().split("\n"), {}, []
    for line in lines:
        runs, column = [], 0
        for part in re.split("(\x1b\\[[0-9;:]*m)", line):
            if part.startswith("\x1b"):
                sgr(state, part[2:-1])
            elif part:
                runs.append((column, part, dict(state)))
                column += width(part)
        rows.append(runs)
    columns = max((at + width(text.rstrip()) for runs in rows for at, text, _ in runs), default=1)
    size = (WIDE * columns + 24, HIGH * len(rows) + 24)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]:.0f}" height="{size[1]:.0f}" '
          'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">\n'
          f'<title>{escape(sys.argv[1])}</title>\n'
          f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>')
    for number, runs in enumerate(rows):
        y = 12 + HIGH * number
        for at, text, look in runs:
            front, back = look.get(38, TEXT), look.get(48, GROUND)
            if 7 in look:
                front, back = back, front
            x, kept = 12 + WIDE * at, text.rstrip()
            if back != GROUND:
                print(f'<rect x="{x:.1f}" y="{y}" width="{WIDE * width(text):.1f}" height="{HIGH}" fill="{back}"/>')
            if kept:
                more = ' font-weight="bold"' if 1 in look else ' opacity="0.6"' if 2 in look else ""
                print(f'<text x="{x:.1f}" y="{y + 13.5}" fill="{front}"{more} '
                      f'textLength="{WIDE * width(kept):.1f}" xml:space="preserve">{escape(kept)}</text>')
    print("</svg>")


main()
