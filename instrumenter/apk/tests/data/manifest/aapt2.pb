
¾
9
android*http://schemas.android.com/apk/res/androidmanifest"packagecom.example.app"K
*http://schemas.android.com/apk/res/androidversionCode7"(›„„2:0"C
*http://schemas.android.com/apk/res/androidversionName1.2(œ„„*
  P*b
Zuses-sdk"N
*http://schemas.android.com/apk/res/androidminSdkVersion14"(Œ„„2:0*
  )*o
guses-permission"T
*http://schemas.android.com/apk/res/androidnameandroid.permission.INTERNET(ƒ€„*
  @*Á	
¸	application"@
*http://schemas.android.com/apk/res/androidlabelJÃ¤ger(€„"=
*http://schemas.android.com/apk/res/androidname.App(ƒ€„"K
*http://schemas.android.com/apk/res/androidtestOnlytrue"(ò„„2:@*
    Q*¦
	meta-data"F
*http://schemas.android.com/apk/res/androidnameanrscope.slow(ƒ€„"H
*http://schemas.android.com/apk/res/androidvalue700"	(¤€„2:0¼	*
    	B*¿
¶activity"K
*http://schemas.android.com/apk/res/androidexportedtrue"
(€„2:@"=
*http://schemas.android.com/apk/res/androidnameMain(ƒ€„*
      
:*~
vintent-filter*e
]action"S
*http://schemas.android.com/apk/res/androidnameandroid.intent.action.MAIN(ƒ€„*
    Y
*
    *
•service"G
*http://schemas.android.com/apk/res/androidnameorg.other.Sync(ƒ€„"A
*http://schemas.android.com/apk/res/androidprocess:sync(‘€„*
    E*…
üprovider"U
*http://schemas.android.com/apk/res/androidauthoritiescom.example.app.files(˜€„"S
*http://schemas.android.com/apk/res/android	initOrder-5"(š€„2:0ûÿÿÿÿÿÿÿÿ"D
*http://schemas.android.com/apk/res/androidname.data.Files(ƒ€„*
  n*	
