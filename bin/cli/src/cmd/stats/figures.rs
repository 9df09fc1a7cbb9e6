//! Numbers, bytes, shares and bars as people read them.

use indicatif::HumanCount;
use unicode_width::UnicodeWidthStr;

/// A number with commas: `12,345`.
pub(crate) fn number(count: u64) -> String {
    HumanCount(count).to_string()
}

/// A line with a line below it, and an empty one.
pub(crate) fn heading(text: &str) -> String {
    format!("{text}\n{}\n\n", "═".repeat(text.width()))
}

/// So many of something: `1 row`, `2,000 rows`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// Bytes in the largest unit that leaves a number before the point: `1.4 MB`.
pub(crate) fn bytes(count: u64) -> String {
    if count < 1_000 {
        return format!("{count} B");
    }
    let mut scale = 1_000_u64;
    for unit in ["kB", "MB", "GB", "TB"] {
        // Rounded before it is compared: 999,950 bytes are 1.0 MB and not 1000.0 kB.
        let tenths = (u128::from(count) + u128::from(scale) / 20) / (u128::from(scale) / 10);
        if tenths < 10_000 || unit == "TB" {
            let whole = u64::try_from(tenths / 10).unwrap_or(u64::MAX);
            return format!("{}.{} {unit}", number(whole), tenths % 10);
        }
        scale *= 1_000;
    }
    String::new()
}

/// How many of a hundred: `12.5 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let tenths = (u128::from(part) * 1_000 + u128::from(whole) / 2) / u128::from(whole.max(1));
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// A bar of at most `width` cells for a part of the largest, drawn in eighths of a cell.
pub(crate) fn bar(part: u64, largest: u64, width: usize) -> String {
    let wide = u128::try_from(width).unwrap_or(u128::MAX) * 8;
    let eighths = (u128::from(part) * wide).div_ceil(u128::from(largest.max(1)));
    let full = usize::try_from(eighths / 8).unwrap_or(width);
    let rest = match eighths % 8 {
        0 => "",
        1 => "▏",
        2 => "▎",
        3 => "▍",
        4 => "▌",
        5 => "▋",
        6 => "▊",
        _ => "▉",
    };
    "█".repeat(full) + rest
}

#[cfg(test)]
mod tests {
    use super::{bar, bytes, counted, number, percent};

    #[test]
    fn figures_are_as_people_write_them() {
        let numbers = [0, 7, 999, 1_000, 1_234_567].map(number);
        assert_eq!(numbers, ["0", "7", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "row", "rows"), counted(2_000, "row", "rows")], ["1 row", "2,000 rows"]);
        let sizes = [0, 999, 1_000, 1_449, 999_949, 999_950, 1_500_000, 12_000_000_000].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "1.4 kB", "999.9 kB", "1.0 MB", "1.5 MB", "12.0 GB"]);
        assert_eq!(bytes(u64::MAX), "18,446,744.1 TB");
        assert_eq!([percent(1, 8), percent(1, 3), percent(0, 0)], ["12.5 %", "33.3 %", "0.0 %"]);
    }

    #[test]
    fn a_bar_is_as_long_as_its_part() {
        assert_eq!([bar(8, 8, 2), bar(4, 8, 2), bar(1, 8, 2), bar(0, 8, 2)], ["██", "█", "▎", ""]);
        // Something is seen wherever something is.
        assert_eq!(bar(1, 1_000_000, 10), "▏");
        assert_eq!(bar(5, 0, 1).chars().count(), 5);
    }
}
