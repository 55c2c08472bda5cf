//! The demo's methods: its method map, and the methods that its child calls.

/// A method of the demo's app. The discriminant is its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Method {
    OnInput = 1,
    OnClick,
    Animate,
    Interpolate,
    Traverse,
    Measure,
    Layout,
    Draw,
    BindRow,
    Pay,
    CartTotal,
    PriceOf,
    Sync,
    Upload,
    Decode,
    DecodeRow,
}

use Method::*;

const ALL: [(Method, &str, &str, &str); 16] = [
    (OnInput, "com.example.shop.ListActivity", "dispatchTouchEvent", "(Landroid.view.MotionEvent;)Z"),
    (OnClick, "com.example.shop.ListActivity", "onClick", "(Landroid.view.View;)V"),
    (Animate, "com.example.shop.RowAnimator", "onAnimationUpdate", "(F)V"),
    (Interpolate, "com.example.shop.RowAnimator", "interpolate", "(F)F"),
    (Traverse, "com.example.shop.RowView", "performTraversals", "()V"),
    (Measure, "com.example.shop.RowView", "onMeasure", "(II)V"),
    (Layout, "com.example.shop.RowView", "onLayout", "(ZIIII)V"),
    (Draw, "com.example.shop.RowView", "onDraw", "(Landroid.graphics.Canvas;)V"),
    (BindRow, "com.example.shop.RowAdapter", "onBindViewHolder", "(I)V"),
    (Pay, "com.example.shop.CheckoutActivity", "pay", "()V"),
    (CartTotal, "com.example.shop.Cart", "total", "()J"),
    (PriceOf, "com.example.shop.PriceStore", "priceOf", "(J)J"),
    (Sync, "com.example.shop.SyncWorker", "syncPrices", "()V"),
    (Upload, "com.example.shop.SyncWorker", "readReply", "(Ljava.net.Socket;)V"),
    (Decode, "com.example.shop.ImageLoader", "decode", "()V"),
    (DecodeRow, "com.example.shop.ImageLoader", "decodeRow", "(I)V"),
];

impl Method {
    /// Its id.
    pub(super) fn id(self) -> u32 {
        self as u32
    }

    /// Its name as in a trace.
    #[cfg(target_os = "linux")]
    pub(super) fn name(self) -> String {
        let (_, class, method, _) = ALL[self as usize - 1];
        format!("{class}.{method}")
    }
}

/// The id lines of the method map, in ascending order.
pub(super) fn map_lines() -> Vec<String> {
    ALL.iter()
        .map(|(m, class, name, descriptor)| format!("{},1,{class} {name} {descriptor}", m.id()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_ids() {
        for (i, (method, ..)) in ALL.iter().enumerate() {
            assert_eq!(method.id() as usize, i + 1);
        }
    }
}
