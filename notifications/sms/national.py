"""The national languages' tables of an SMS (3GPP TS 23.038 V18.0.0, annex A), for what the default alphabet lacks.

A message says in its header which of them it uses. That is the provider's choice, so `segments` counts with none.
The code points are those of three transcriptions of the standard (gsmcodecs, CyberChef, Android), held against the blocks
of Unicode. Where the three differ, ours are those of two of them, but for one cell of Kannada.
"""

from __future__ import annotations

from enum import IntEnum

from notifications.sms.alphabet import EXTENSION, Table, table


class Language(IntEnum):
    """National language identifiers, section 6.2.1.2.4."""

    TURKISH = 1
    SPANISH = 2
    PORTUGUESE = 3
    BENGALI = 4
    GUJARATI = 5
    HINDI = 6
    KANNADA = 7
    MALAYALAM = 8
    ORIYA = 9
    PUNJABI = 10
    TAMIL = 11
    TELUGU = 12
    URDU = 13


# Sections A.3.1 to A.3.13. Spanish has none. For Kannada two of the three have the letter PA (0CAA) at 0x24, which stands
# at 0x3D already; Android has the one that would be missing, DDA (0CA1), and so does this table.
LOCKING: dict[Language, Table] = {
    Language.TURKISH: table("""
        @    £    $    ¥    €    é    ù    ı    ò    Ç    LF   Ğ    ğ    CR   Å    å
        Δ    _    Φ    Γ    Λ    Ω    Π    Ψ    Σ    Θ    Ξ    ESC  Ş    ş    ß    É
        SP   !    "    #    ¤    %    &    '    (    )    *    +    ,    -    .    /
        0    1    2    3    4    5    6    7    8    9    :    ;    <    =    >    ?
        İ    A    B    C    D    E    F    G    H    I    J    K    L    M    N    O
        P    Q    R    S    T    U    V    W    X    Y    Z    Ä    Ö    Ñ    Ü    §
        ç    a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    ä    ö    ñ    ü    à
    """),
    Language.PORTUGUESE: table("""
        @    £    $    ¥    ê    é    ú    í    ó    ç    LF   Ô    ô    CR   Á    á
        Δ    _    ª    Ç    À    ∞    ^    005C €    Ó    |    ESC  Â    â    Ê    É
        SP   !    "    #    º    %    &    '    (    )    *    +    ,    -    .    /
        0    1    2    3    4    5    6    7    8    9    :    ;    <    =    >    ?
        Í    A    B    C    D    E    F    G    H    I    J    K    L    M    N    O
        P    Q    R    S    T    U    V    W    X    Y    Z    Ã    Õ    Ú    Ü    §
        ~    a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    ã    õ    `    ü    à
    """),
    Language.BENGALI: table("""
        0981 0982 0983 0985 0986 0987 0988 0989 098A 098B LF   098C --   CR   --   098F
        0990 --   --   0993 0994 0995 0996 0997 0998 0999 099A ESC  099B 099C 099D 099E
        SP   !    099F 09A0 09A1 09A2 09A3 09A4 )    (    09A5 09A6 ,    09A7 .    09A8
        0    1    2    3    4    5    6    7    8    9    :    ;    --   09AA 09AB ?
        09AC 09AD 09AE 09AF 09B0 --   09B2 --   --   --   09B6 09B7 09B8 09B9 09BC 09BD
        09BE 09BF 09C0 09C1 09C2 09C3 09C4 --   --   09C7 09C8 --   --   09CB 09CC 09CD
        09CE a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    09D7 09DC 09DD 09F0 09F1
    """),
    Language.GUJARATI: table("""
        0A81 0A82 0A83 0A85 0A86 0A87 0A88 0A89 0A8A 0A8B LF   0A8C 0A8D CR   --   0A8F
        0A90 0A91 --   0A93 0A94 0A95 0A96 0A97 0A98 0A99 0A9A ESC  0A9B 0A9C 0A9D 0A9E
        SP   !    0A9F 0AA0 0AA1 0AA2 0AA3 0AA4 )    (    0AA5 0AA6 ,    0AA7 .    0AA8
        0    1    2    3    4    5    6    7    8    9    :    ;    --   0AAA 0AAB ?
        0AAC 0AAD 0AAE 0AAF 0AB0 --   0AB2 0AB3 --   0AB5 0AB6 0AB7 0AB8 0AB9 0ABC 0ABD
        0ABE 0ABF 0AC0 0AC1 0AC2 0AC3 0AC4 0AC5 --   0AC7 0AC8 0AC9 --   0ACB 0ACC 0ACD
        0AD0 a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    0AE0 0AE1 0AE2 0AE3 0AF1
    """),
    Language.HINDI: table("""
        0901 0902 0903 0905 0906 0907 0908 0909 090A 090B LF   090C 090D CR   090E 090F
        0910 0911 0912 0913 0914 0915 0916 0917 0918 0919 091A ESC  091B 091C 091D 091E
        SP   !    091F 0920 0921 0922 0923 0924 )    (    0925 0926 ,    0927 .    0928
        0    1    2    3    4    5    6    7    8    9    :    ;    0929 092A 092B ?
        092C 092D 092E 092F 0930 0931 0932 0933 0934 0935 0936 0937 0938 0939 093C 093D
        093E 093F 0940 0941 0942 0943 0944 0945 0946 0947 0948 0949 094A 094B 094C 094D
        0950 a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    0972 097B 097C 097E 097F
    """),
    Language.KANNADA: table("""
        --   0C82 0C83 0C85 0C86 0C87 0C88 0C89 0C8A 0C8B LF   0C8C --   CR   0C8E 0C8F
        0C90 --   0C92 0C93 0C94 0C95 0C96 0C97 0C98 0C99 0C9A ESC  0C9B 0C9C 0C9D 0C9E
        SP   !    0C9F 0CA0 0CA1 0CA2 0CA3 0CA4 )    (    0CA5 0CA6 ,    0CA7 .    0CA8
        0    1    2    3    4    5    6    7    8    9    :    ;    --   0CAA 0CAB ?
        0CAC 0CAD 0CAE 0CAF 0CB0 0CB1 0CB2 0CB3 --   0CB5 0CB6 0CB7 0CB8 0CB9 0CBC 0CBD
        0CBE 0CBF 0CC0 0CC1 0CC2 0CC3 0CC4 --   0CC6 0CC7 0CC8 --   0CCA 0CCB 0CCC 0CCD
        0CD5 a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    0CD6 0CE0 0CE1 0CE2 0CE3
    """),
    Language.MALAYALAM: table("""
        --   0D02 0D03 0D05 0D06 0D07 0D08 0D09 0D0A 0D0B LF   0D0C --   CR   0D0E 0D0F
        0D10 --   0D12 0D13 0D14 0D15 0D16 0D17 0D18 0D19 0D1A ESC  0D1B 0D1C 0D1D 0D1E
        SP   !    0D1F 0D20 0D21 0D22 0D23 0D24 )    (    0D25 0D26 ,    0D27 .    0D28
        0    1    2    3    4    5    6    7    8    9    :    ;    --   0D2A 0D2B ?
        0D2C 0D2D 0D2E 0D2F 0D30 0D31 0D32 0D33 0D34 0D35 0D36 0D37 0D38 0D39 --   0D3D
        0D3E 0D3F 0D40 0D41 0D42 0D43 0D44 --   0D46 0D47 0D48 --   0D4A 0D4B 0D4C 0D4D
        0D57 a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    0D60 0D61 0D62 0D63 0D79
    """),
    Language.ORIYA: table("""
        0B01 0B02 0B03 0B05 0B06 0B07 0B08 0B09 0B0A 0B0B LF   0B0C --   CR   --   0B0F
        0B10 --   --   0B13 0B14 0B15 0B16 0B17 0B18 0B19 0B1A ESC  0B1B 0B1C 0B1D 0B1E
        SP   !    0B1F 0B20 0B21 0B22 0B23 0B24 )    (    0B25 0B26 ,    0B27 .    0B28
        0    1    2    3    4    5    6    7    8    9    :    ;    --   0B2A 0B2B ?
        0B2C 0B2D 0B2E 0B2F 0B30 --   0B32 0B33 --   0B35 0B36 0B37 0B38 0B39 0B3C 0B3D
        0B3E 0B3F 0B40 0B41 0B42 0B43 0B44 --   --   0B47 0B48 --   --   0B4B 0B4C 0B4D
        0B56 a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    0B57 0B60 0B61 0B62 0B63
    """),
    Language.PUNJABI: table("""
        0A01 0A02 0A03 0A05 0A06 0A07 0A08 0A09 0A0A --   LF   --   --   CR   --   0A0F
        0A10 --   --   0A13 0A14 0A15 0A16 0A17 0A18 0A19 0A1A ESC  0A1B 0A1C 0A1D 0A1E
        SP   !    0A1F 0A20 0A21 0A22 0A23 0A24 )    (    0A25 0A26 ,    0A27 .    0A28
        0    1    2    3    4    5    6    7    8    9    :    ;    --   0A2A 0A2B ?
        0A2C 0A2D 0A2E 0A2F 0A30 --   0A32 0A33 --   0A35 0A36 --   0A38 0A39 0A3C --
        0A3E 0A3F 0A40 0A41 0A42 --   --   --   --   0A47 0A48 --   --   0A4B 0A4C 0A4D
        0A51 a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    0A70 0A71 0A72 0A73 0A74
    """),
    Language.TAMIL: table("""
        --   0B82 0B83 0B85 0B86 0B87 0B88 0B89 0B8A --   LF   --   --   CR   0B8E 0B8F
        0B90 --   0B92 0B93 0B94 0B95 --   --   --   0B99 0B9A ESC  --   0B9C --   0B9E
        SP   !    0B9F --   --   --   0BA3 0BA4 )    (    --   --   ,    --   .    0BA8
        0    1    2    3    4    5    6    7    8    9    :    ;    0BA9 0BAA --   ?
        --   --   0BAE 0BAF 0BB0 0BB1 0BB2 0BB3 0BB4 0BB5 0BB6 0BB7 0BB8 0BB9 --   --
        0BBE 0BBF 0BC0 0BC1 0BC2 --   --   --   0BC6 0BC7 0BC8 --   0BCA 0BCB 0BCC 0BCD
        0BD0 a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    0BD7 0BF0 0BF1 0BF2 0BF9
    """),
    Language.TELUGU: table("""
        0C01 0C02 0C03 0C05 0C06 0C07 0C08 0C09 0C0A 0C0B LF   0C0C --   CR   0C0E 0C0F
        0C10 --   0C12 0C13 0C14 0C15 0C16 0C17 0C18 0C19 0C1A ESC  0C1B 0C1C 0C1D 0C1E
        SP   !    0C1F 0C20 0C21 0C22 0C23 0C24 )    (    0C25 0C26 ,    0C27 .    0C28
        0    1    2    3    4    5    6    7    8    9    :    ;    --   0C2A 0C2B ?
        0C2C 0C2D 0C2E 0C2F 0C30 0C31 0C32 0C33 --   0C35 0C36 0C37 0C38 0C39 --   0C3D
        0C3E 0C3F 0C40 0C41 0C42 0C43 0C44 --   0C46 0C47 0C48 --   0C4A 0C4B 0C4C 0C4D
        0C55 a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    0C56 0C60 0C61 0C62 0C63
    """),
    Language.URDU: table("""
        0627 0622 0628 067B 0680 067E 06A6 062A 06C2 067F LF   0679 067D CR   067A 067C
        062B 062C 0681 0684 0683 0685 0686 0687 062D 062E 062F ESC  068C 0688 0689 068A
        SP   !    068F 068D 0630 0631 0691 0693 )    (    0699 0632 ,    0696 .    0698
        0    1    2    3    4    5    6    7    8    9    :    ;    069A 0633 0634 ?
        0635 0636 0637 0638 0639 0641 0642 06A9 06AA 06AB 06AF 06B3 06B1 0644 0645 0646
        06BA 06BB 06BC 0648 06C4 06D5 06C1 06BE 0621 06CC 06D0 06D2 064D 0650 064F 0657
        0654 a    b    c    d    e    f    g    h    i    j    k    l    m    n    o
        p    q    r    s    t    u    v    w    x    y    z    0655 0651 0653 0656 0670
    """),
}

# What all tables behind an escape share whose language does not use Latin letters.
_LATIN = table("""
    @    £    $    ¥    ¿    "    ¤    %    &    '    FF   *    +    --   -    /
    <    =    >    ¡    ^    ¡    _    #    *    --   --   ESC  --   --   --   --
    --   --   --   --   --   --   --   --   {    }    --   --   --   --   --   005C
    --   --   --   --   --   --   --   --   --   --   --   --   [    ~    ]    --
    |    A    B    C    D    E    F    G    H    I    J    K    L    M    N    O
    P    Q    R    S    T    U    V    W    X    Y    Z    --   --   --   --   --
    --   --   --   --   --   €    --   --   --   --   --   --   --   --   --   --
    --   --   --   --   --   --   --   --   --   --   --   --   --   --   --   --
""")


def _added(rows: str) -> dict[int, str]:
    """Read what a table adds to the Latin letters, from its second line on."""
    return table("-- " * 16 + rows)


# Sections A.2.1 to A.2.13.
SINGLE: dict[Language, Table] = {
    Language.TURKISH: EXTENSION
    | table("""
        --   --   --   --   --   --   --   --   --   --   --   --   --   --   --   --
        --   --   --   --   --   --   --   --   --   --   --   ESC  --   --   --   --
        --   --   --   --   --   --   --   --   --   --   --   --   --   --   --   --
        --   --   --   --   --   --   --   --   --   --   --   --   --   --   --   --
        --   --   --   --   --   --   --   Ğ    --   İ    --   --   --   --   --   --
        --   --   --   Ş    --   --   --   --   --   --   --   --   --   --   --   --
        --   --   --   ç    --   --   --   ğ    --   ı    --   --   --   --   --   --
        --   --   --   ş    --   --   --   --   --   --   --   --   --   --   --   --
    """),
    Language.SPANISH: EXTENSION
    | table("""
        --   --   --   --   --   --   --   --   --   ç    --   --   --   --   --   --
        --   --   --   --   --   --   --   --   --   --   --   ESC  --   --   --   --
        --   --   --   --   --   --   --   --   --   --   --   --   --   --   --   --
        --   --   --   --   --   --   --   --   --   --   --   --   --   --   --   --
        --   Á    --   --   --   --   --   --   --   Í    --   --   --   --   --   Ó
        --   --   --   --   --   Ú    --   --   --   --   --   --   --   --   --   --
        --   á    --   --   --   --   --   --   --   í    --   --   --   --   --   ó
        --   --   --   --   --   ú    --   --   --   --   --   --   --   --   --   --
    """),
    Language.PORTUGUESE: EXTENSION
    | table("""
        --   --   --   --   --   ê    --   --   --   ç    --   Ô    ô    --   Á    á
        --   --   Φ    Γ    --   Ω    Π    Ψ    Σ    Θ    --   ESC  --   --   --   Ê
        --   --   --   --   --   --   --   --   --   --   --   --   --   --   --   --
        --   --   --   --   --   --   --   --   --   --   --   --   --   --   --   --
        --   À    --   --   --   --   --   --   --   Í    --   --   --   --   --   Ó
        --   --   --   --   --   Ú    --   --   --   --   --   Ã    Õ    --   --   --
        --   Â    --   --   --   --   --   --   --   í    --   --   --   --   --   ó
        --   --   --   --   --   ú    --   --   --   --   --   ã    õ    --   --   â
    """),
    Language.BENGALI: _LATIN
    | _added("""
        --   --   --   --   --   --   --   --   --   09E6 09E7 ESC  09E8 09E9 09EA 09EB
        09EC 09ED 09EE 09EF 09DF 09E0 09E1 09E2 --   --   09E3 09F2 09F3 09F4 09F5 --
        09F6 09F7 09F8 09F9 09FA --   --   --   --   --   --   --   --   --   --   --
    """),
    Language.GUJARATI: _LATIN
    | _added("""
        --   --   --   --   --   --   --   --   --   0964 0965 ESC  0AE6 0AE7 0AE8 0AE9
        0AEA 0AEB 0AEC 0AED 0AEE 0AEF --   --   --   --   --   --   --   --   --   --
    """),
    Language.HINDI: _LATIN
    | _added("""
        --   --   --   --   --   --   --   --   --   0964 0965 ESC  0966 0967 0968 0969
        096A 096B 096C 096D 096E 096F 0951 0952 --   --   0953 0954 0958 0959 095A --
        095B 095C 095D 095E 095F 0960 0961 0962 0963 0970 0971 --   --   --   --   --
    """),
    Language.KANNADA: _LATIN
    | _added("""
        --   --   --   --   --   --   --   --   --   0964 0965 ESC  0CE6 0CE7 0CE8 0CE9
        0CEA 0CEB 0CEC 0CED 0CEE 0CEF 0CDE 0CF1 --   --   0CF2 --   --   --   --   --
    """),
    Language.MALAYALAM: _LATIN
    | _added("""
        --   --   --   --   --   --   --   --   --   0964 0965 ESC  0D66 0D67 0D68 0D69
        0D6A 0D6B 0D6C 0D6D 0D6E 0D6F 0D70 0D71 --   --   0D72 0D73 0D74 0D75 0D7A --
        0D7B 0D7C 0D7D 0D7E 0D7F --   --   --   --   --   --   --   --   --   --   --
    """),
    Language.ORIYA: _LATIN
    | _added("""
        --   --   --   --   --   --   --   --   --   0964 0965 ESC  0B66 0B67 0B68 0B69
        0B6A 0B6B 0B6C 0B6D 0B6E 0B6F 0B5C 0B5D --   --   0B5F 0B70 0B71 --   --   --
    """),
    Language.PUNJABI: _LATIN
    | _added("""
        --   --   --   --   --   --   --   --   --   0964 0965 ESC  0A66 0A67 0A68 0A69
        0A6A 0A6B 0A6C 0A6D 0A6E 0A6F 0A59 0A5A --   --   0A5B 0A5C 0A5E 0A75 --   --
    """),
    Language.TAMIL: _LATIN
    | _added("""
        --   --   --   --   --   --   --   --   --   0964 0965 ESC  0BE6 0BE7 0BE8 0BE9
        0BEA 0BEB 0BEC 0BED 0BEE 0BEF 0BF3 0BF4 --   --   0BF5 0BF6 0BF7 0BF8 0BFA --
    """),
    Language.TELUGU: _LATIN
    | _added("""
        --   --   --   --   --   --   --   --   --   --   --   ESC  0C66 0C67 0C68 0C69
        0C6A 0C6B 0C6C 0C6D 0C6E 0C6F 0C58 0C59 --   --   0C78 0C79 0C7A 0C7B 0C7C --
        0C7D 0C7E 0C7F --   --   --   --   --   --   --   --   --   --   --   --   --
    """),
    Language.URDU: _LATIN
    | _added("""
        --   --   --   --   --   --   --   --   --   0600 0601 ESC  06F0 06F1 06F2 06F3
        06F4 06F5 06F6 06F7 06F8 06F9 060C 060D --   --   060E 060F 0610 0611 0612 --
        0613 0614 061B 061F 0640 0652 0658 066B 066C 0672 0673 06CD --   --   --   06D4
    """),
}
