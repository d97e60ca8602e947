"""Check digits and forms of numbers that name a person or an account. All take digits as text."""

from __future__ import annotations

from collections.abc import Callable

_VERHOEFF_TABLE = (
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
)
_VERHOEFF_ORDER = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)
_TAIWAN_LETTERS = "ABCDEFGHJKLMNPQRSTUVXYWZIO"
_CARD_LENGTHS = {
    "3": (14, 15, 16),
    "4": (13, 16, 19),
    "5": (16,),
    "2": (16,),
    "6": (16, 17, 18, 19),
    "9": (16, 19),
}


def luhn(number: str) -> bool:
    """ISO/IEC 7812-1: the check of payment cards."""
    total = 0
    for place, digit in enumerate(reversed(number)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def card(number: str) -> bool:
    """A payment card: an issuer's range, its length, and the Luhn check."""
    if len(number) not in _CARD_LENGTHS.get(number[:1], ()) or len(set(number)) < 2:
        return False
    head2, head4 = int(number[:2]), int(number[:4])
    issuer = (
        number[0] == "4"
        or 51 <= head2 <= 55
        or 2221 <= head4 <= 2720
        or head2 in (30, 34, 35, 36, 37, 38, 39)
        or head2 in (60, 62, 64, 65, 67, 68, 69, 50, 56, 57, 58, 63, 81)
        or head4 == 9558
    )
    return issuer and luhn(number)


def china_id(number: str) -> bool:
    """GB 11643: 17 digits with a birth date and a check digit (mod 11-2, X for 10)."""
    number = number.upper()
    if len(number) != 18 or not number[:17].isdigit() or number[0] not in "12345678":
        return False
    if not _date(number[6:10], number[10:12], number[12:14]):
        return False
    total = sum(int(digit) * (2 ** (17 - place) % 11) for place, digit in enumerate(number[:17]))
    return "10X98765432"[total % 11] == number[17]


def china_id_old(number: str) -> bool:
    """The 15-digit form before 1999: region, then yymmdd."""
    return (
        len(number) == 15
        and number[0] in "12345678"
        and _date("19" + number[6:8], number[8:10], number[10:12])
    )


def iban(text: str) -> bool:
    """ISO 13616: country, two check digits, mod 97 of the rearranged text is 1."""
    text = text.replace(" ", "").upper()
    if not (
        15 <= len(text) <= 34
        and text[:2].isalpha()
        and text[2:4].isdigit()
        and text.isalnum()
        and text.isascii()
    ):
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def verhoeff(number: str) -> bool:
    """The check of India's Aadhaar (12 digits)."""
    state = 0
    for place, digit in enumerate(reversed(number)):
        state = int(_VERHOEFF_TABLE[state][int(_VERHOEFF_ORDER[place % 8][int(digit)])])
    return state == 0


def aadhaar(number: str) -> bool:
    """Twelve digits, the first 2 to 9, with the Verhoeff check."""
    return len(number) == 12 and number[0] in "23456789" and len(set(number)) > 3 and verhoeff(number)


def cpf(number: str) -> bool:
    """Brazil's CPF: eleven digits, the last two are checks."""
    if len(number) != 11 or len(set(number)) == 1:
        return False
    for size in (9, 10):
        total = sum(int(digit) * (size + 1 - place) for place, digit in enumerate(number[:size]))
        if total * 10 % 11 % 10 != int(number[size]):
            return False
    return True


def korea_id(number: str) -> bool:
    """Resident number: yymmdd, a digit for century and sex, and its check digit."""
    if (
        len(number) != 13
        or not _date("19" + number[:2], number[2:4], number[4:6])
        or number[6] not in "12345678"
    ):
        return False
    total = sum(
        int(digit) * weight
        for digit, weight in zip(number, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5), strict=False)
    )
    return (11 - total % 11) % 10 == int(number[12])


def taiwan_id(text: str) -> bool:
    """A letter for the region and nine digits, the last a check."""
    text = text.upper()
    if (
        len(text) != 10
        or text[0] not in _TAIWAN_LETTERS
        or not text[1:].isdigit()
        or text[1] not in "1289"
    ):
        return False
    code = _TAIWAN_LETTERS.index(text[0]) + 10
    total = code // 10 + code % 10 * 9 + int(text[9])
    return (total + sum(int(digit) * (8 - place) for place, digit in enumerate(text[1:9]))) % 10 == 0


def singapore_id(text: str) -> bool:
    """NRIC or FIN: letter, seven digits, check letter."""
    text = text.upper()
    if len(text) != 9 or text[0] not in "STFG" or not text[1:8].isdigit():
        return False
    total = sum(
        int(digit) * weight for digit, weight in zip(text[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True)
    )
    letters = "JZIHGFEDCBA" if text[0] in "ST" else "XWUTRQPNMLK"
    return letters[(total + (4 if text[0] in "TG" else 0)) % 11] == text[8]


def us_ssn(number: str) -> bool:
    """Nine digits in an area, group and serial that the agency may give out, or the reserved 9xx (ITIN)."""
    return (
        len(number) == 9
        and number[:3] not in ("000", "666")
        and number[3:5] != "00"
        and number[5:] != "0000"
    )


def spain_id(text: str) -> bool:
    """DNI or NIE: eight digits (or X, Y, Z and seven) and a check letter mod 23."""
    text = text.upper()
    number = text[:-1].replace("X", "0", 1).replace("Y", "1", 1).replace("Z", "2", 1)
    return (
        len(text) == 9 and number.isdigit() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == text[8]
    )


def _date(year: str, month: str, day: str) -> bool:
    return 1850 <= int(year) <= 2099 and 1 <= int(month) <= 12 and 1 <= int(day) <= 31


CHECKS: dict[str, Callable[[str], bool]] = {
    "aadhaar": aadhaar,
    "cpf": cpf,
    "korea": korea_id,
    "china": china_id,
    "china_old": china_id_old,
    "ssn": us_ssn,
}
