package com.example.sample;

import android.app.Activity;
import android.os.Bundle;
import android.view.View;
import android.widget.Button;
import android.widget.LinearLayout;
import android.widget.ScrollView;
import android.widget.TextView;

/** A page of buttons. */
abstract class Page extends Activity {
    private LinearLayout column;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        column = new LinearLayout(this);
        column.setOrientation(LinearLayout.VERTICAL);
        int margin = (int) (16 * getResources().getDisplayMetrics().density);
        column.setPadding(margin, margin, margin, margin);
        // Android 15 draws an app behind the system bars by default.
        column.setFitsSystemWindows(true);
        ScrollView scroll = new ScrollView(this);
        scroll.addView(column);
        setContentView(scroll);
        fill();
    }

    /** Adds the page's contents. */
    abstract void fill();

    final void clear() {
        column.removeAllViews();
    }

    final void text(String text) {
        TextView view = new TextView(this);
        view.setText(text);
        column.addView(view);
    }

    final void button(String name, Runnable does) {
        Button button = new Button(this);
        button.setText(name);
        button.setAllCaps(false);
        button.setOnClickListener(clicked -> does.run());
        column.addView(button);
    }

    final void add(View view, int height) {
        column.addView(view, new LinearLayout.LayoutParams(LinearLayout.LayoutParams.MATCH_PARENT, height));
    }
}
