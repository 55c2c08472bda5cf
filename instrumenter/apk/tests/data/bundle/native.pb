

lib/arm64-v8a


lib/armeabi-v7a


lib/x86



lib/x86_64
