package org.gradle.api.attributes;

import org.gradle.api.Named;

/** Since Gradle 5.3. */
public interface Category extends Named {
    Attribute<Category> CATEGORY_ATTRIBUTE = Attribute.of("org.gradle.category", Category.class);
}
