//! Mann and Whitney's rank test (Ann. Math. Stat. 18 (1947), 50), two-sided.

/// Up to this many values, and without ties, the exact distribution is used; beyond it, the normal
/// approximation.
const EXACT: usize = 40;

/// The probability that two sorted samples of one distribution differ as much as these. `None` if one is empty
/// or all values are equal.
///
/// ```
/// let p = exporter::diff::mann_whitney(&[1, 2, 3, 4, 5], &[11, 12, 13, 14, 15]).unwrap();
/// assert!(p < 0.01);
/// ```
#[must_use]
pub fn mann_whitney(a: &[u64], b: &[u64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    // Twice the statistic, so that half a rank is an integer: 2 for each pair with a < b, 1 for each with a =
    // b.
    let (mut twice_u, mut ties) = (0_u128, 0.0_f64);
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let value = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => *x.min(y),
            (Some(x), None) | (None, Some(x)) => *x,
            (None, None) => break,
        };
        let in_a = a[i..].iter().take_while(|x| **x == value).count();
        let in_b = b[j..].iter().take_while(|y| **y == value).count();
        (i, j) = (i + in_a, j + in_b);
        twice_u += in_a as u128 * (2 * (b.len() - j) + in_b) as u128;
        let t = (in_a + in_b) as f64;
        ties += t * t * t - t;
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    if a.len() + b.len() <= EXACT && ties == 0.0 {
        return Some(exact(a.len(), b.len(), (twice_u / 2) as usize));
    }
    let all = n + m;
    let variance = n * m / 12.0 * ((all + 1.0) - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return None;
    }
    // Half a pair of continuity.
    let off = ((twice_u as f64 / 2.0 - n * m / 2.0).abs() - 0.5).max(0.0);
    Some(erfc(off / variance.sqrt() / std::f64::consts::SQRT_2).min(1.0))
}

/// Two-sided p value from the number of arrangements with each value of U.
fn exact(n: usize, m: usize, u: usize) -> f64 {
    // counts[k] for the samples so far: the coefficients of the Gaussian binomial.
    let most = n * m;
    let mut counts = vec![0.0_f64; most + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        // Times (1 - x^(m + i)), and divided by (1 - x^i).
        for k in (m + i..=most).rev() {
            counts[k] -= counts[k - m - i];
        }
        for k in i..=most {
            counts[k] += counts[k - i];
        }
    }
    let all: f64 = counts.iter().sum();
    let tail: f64 = counts[..=u.min(most - u)].iter().sum();
    (2.0 * tail / all).min(1.0)
}

/// The complementary error function for x ≥ 0, to a relative error of 1.2e-7 (Numerical Recipes, 2nd edition, 6.2).
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.5 * x);
    let coefficients = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let series = coefficients.iter().rev().fold(0.0, |sum, c| sum * t + c);
    t * (-x * x + series).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 5e-5, "{found} is not {expected}");
    }

    #[test]
    fn it_is_the_test_of_the_textbooks() {
        close(mann_whitney(&[1, 2, 3, 4, 5], &[6, 7, 8, 9, 10]), 0.007_936_5);
        // R's help on wilcox.test: permeability constants (times 100), W = 35, one-sided 0.1272.
        let term = [73, 80, 83, 104, 138, 145, 146, 164, 189, 191];
        let early = [74, 88, 90, 115, 121];
        close(mann_whitney(&term, &early), 0.254_4);
        close(mann_whitney(&early, &term), 0.254_4);
        // The normal distribution's own values.
        for (z, p) in [(0.0, 1.0), (1.0, 0.317_310_5), (1.959_964, 0.05), (3.0, 0.002_699_8)] {
            assert!((erfc(z / std::f64::consts::SQRT_2) - p).abs() < 1e-6);
        }
    }

    #[test]
    fn empty_or_equal_samples_have_no_p_value() {
        assert_eq!((mann_whitney(&[], &[1]), mann_whitney(&[5; 30], &[5; 40])), (None, None));
    }

    proptest! {
        #[test]
        fn the_normal_form_is_near_the_exact_one(seed in proptest::collection::vec(any::<u32>(), 20..38)) {
            let mut values: Vec<u64> = seed.iter().map(|v| u64::from(*v)).collect();
            values.sort_unstable();
            values.dedup();
            prop_assume!(values.len() >= 16);
            let (mut a, mut b): (Vec<u64>, Vec<u64>) = values.iter().partition(|v| (**v >> 3) % 2 == 0);
            prop_assume!(a.len() >= 8 && b.len() >= 8);
            let exact = mann_whitney(&a, &b).unwrap();
            // Every value a hundred times: too many for the exact test, in the same order.
            a.sort_unstable();
            b.sort_unstable();
            prop_assert!((0.0..=1.0).contains(&exact));
            let (n, m) = (a.len() as f64, b.len() as f64);
            let u: f64 = a.iter().map(|x| b.iter().filter(|y| x < y).count() as f64).sum();
            let z = ((u - n * m / 2.0).abs() - 0.5).max(0.0) / (n * m * (n + m + 1.0) / 12.0).sqrt();
            prop_assert!((erfc(z / std::f64::consts::SQRT_2) - exact).abs() < 0.03);
        }

        #[test]
        fn sides_may_be_exchanged(mut a: Vec<u8>, mut b: Vec<u8>) {
            a.sort_unstable();
            b.sort_unstable();
            let (a, b): (Vec<u64>, Vec<u64>) = (a.into_iter().map(u64::from).collect(), b.into_iter().map(u64::from).collect());
            let (p, q) = (mann_whitney(&a, &b), mann_whitney(&b, &a));
            prop_assert_eq!(p.is_some(), q.is_some());
            if let (Some(p), Some(q)) = (p, q) {
                prop_assert!((p - q).abs() < 1e-9 && (0.0..=1.0).contains(&p));
            }
        }
    }
}
