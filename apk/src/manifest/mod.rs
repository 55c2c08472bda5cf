//! The manifest of an app, in the forms that packages hold: binary XML in an APK, protobuf in an App Bundle.
