//! Two texts, line by line: what went, what came, and a little of what is around it.

use std::fmt::Write as _;

/// How many lines around a change are shown.
const CONTEXT: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Kept(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The difference, or nothing if there is none. Lines that went begin with `-`, those that came with `+`; where lines
/// are left out stands `@@`.
pub(crate) fn diff(old: &str, new: &str) -> String {
    let lines = lines(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>());
    let changed: Vec<bool> = lines.iter().map(|line| !matches!(line, Line::Kept(_))).collect();
    let near = |at: usize| changed[at.saturating_sub(CONTEXT)..changed.len().min(at + CONTEXT + 1)].contains(&true);
    let mut text = String::new();
    let mut left_out = false;
    for (at, line) in lines.iter().enumerate() {
        if !near(at) {
            left_out = true;
            continue;
        }
        if left_out {
            text.push_str("@@\n");
            left_out = false;
        }
        let (mark, line) = match line {
            Line::Kept(line) => (' ', line),
            Line::Gone(line) => ('-', line),
            Line::New(line) => ('+', line),
        };
        let _ = writeln!(text, "{mark}{line}");
    }
    if changed.contains(&true) { text } else { String::new() }
}

/// The largest table for the comparison, in cells. Texts that differ in more than it holds are shown one after the other.
const CELLS: usize = 16 << 20;

/// All lines of both: what they share at the beginning and at the end, and between the two a longest common subsequence.
fn lines<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new, kept) = (&old[head..], &new[head..], &old[..head]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, rest) = old.split_at(old.len() - tail);
    let new = &new[..new.len() - tail];
    let mut lines: Vec<Line> = kept.iter().map(|line| Line::Kept(line)).collect();
    if old.len().saturating_mul(new.len()) > CELLS {
        lines.extend(old.iter().map(|line| Line::Gone(line)));
        lines.extend(new.iter().map(|line| Line::New(line)));
    } else {
        common(old, new, &mut lines);
    }
    lines.extend(rest.iter().map(|line| Line::Kept(line)));
    lines
}

fn common<'a>(old: &[&'a str], new: &[&'a str], lines: &mut Vec<Line<'a>>) {
    // shared[i][j]: how many lines the rests old[i..] and new[j..] have in common
    let mut shared = vec![vec![0u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            shared[i][j] = if old[i] == new[j] { shared[i + 1][j + 1] + 1 } else { shared[i + 1][j].max(shared[i][j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Kept(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && shared[i + 1][j] >= shared[i][j + 1]) {
            lines.push(Line::Gone(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown_and_what_is_around_it() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
        assert_eq!(diff(old, old), "");
        assert_eq!(diff("", "x\n"), "+x\n");
        assert_eq!(diff(old, &old.replace("b\n", "B\n").replace("k\n", "")), " a\n-b\n+B\n c\n d\n e\n@@\n h\n i\n j\n-k\n");
    }
}
