"""Varied prose to measure on: sentences in a random order with random numbers, the same for the same seed."""

from __future__ import annotations

import random

ENGLISH = (
    "The reading room keeps {n} chairs under a glass roof{m}.",
    "Boats to the island leave from the northern pier on most days of the summer{m}.",
    "A second bridge, finished in {y}, carries the road over the old canal{m}.",
    "Farmers in the upper valley sell apples, cheese and wool at the Friday market{m}.",
    "The archive was moved twice before it found its present home near the station{m}.",
    "Visitors may borrow up to {n} maps for a walk along the coast{m}.",
    "Nobody had measured the height of the tower since {y}{m}.",
    "Its walls are thick, its windows are small, and the cellar stays cold all year{m}.",
    "The council pays the ferry company for each crossing in winter{m}.",
    "In {y} the orchestra gave its first concert in the former power station{m}.",
    "Dr. Hallam, who led the excavation, published a short report about the pottery{m}.",
    "Heavy rain closed the mountain road, and the school bus took the longer way{m}.",
    "The museum shows tools, nets and letters of the families who lived on the shore{m}.",
    "About {n} people work in the shipyard, most of them from the two nearest towns{m}.",
    "Guides speak several languages, but tours in the evening are held in one only{m}.",
    "The library of the monastery holds books that were copied by hand, e.g. a herbal{m}.",
    "Is the lighthouse still in use{m}?",
    "A storm damaged the roof of the theatre, which reopened after a long repair{m}.",
    "Local schools send their oldest pupils to the observatory every spring{m}.",
    "The town sold the mill to a baker, and the mill pond became a public garden{m}.",
)
RUSSIAN = (
    "В читальном зале под стеклянной крышей стоит {n} стульев{m}.",
    "Летом лодки на остров почти каждый день отходят от северного причала{m}.",
    "Второй мост, достроенный в {y} году, ведёт дорогу через старый канал{m}.",
    "Крестьяне верхней долины продают на рынке яблоки, сыр и шерсть{m}.",
    "Архив переезжал дважды, прежде чем занял нынешнее здание у вокзала{m}.",
    "Посетители могут взять до {n} карт для прогулки вдоль берега{m}.",
    "Высоту башни никто не измерял с {y} года{m}.",
    "Стены у неё толстые, окна маленькие, и в подвале круглый год холодно{m}.",
    "Совет платит паромной компании за каждый зимний рейс{m}.",
    "Оркестр дал первый концерт в бывшей электростанции в {y} году{m}.",
    "Раскопками руководил проф. Лапин, который издал краткий отчёт о керамике{m}.",
    "Сильный дождь закрыл горную дорогу, и автобус поехал в объезд{m}.",
    "Музей показывает сети, письма и орудия семей, живших на побережье{m}.",
    "На верфи работает около {n} человек, большей частью из соседних городов{m}.",
    "Действует ли ещё маяк{m}?",
    "Буря повредила крышу театра, и после долгого ремонта он открылся вновь{m}.",
    "Местные школы каждую весну отправляют старших учеников в обсерваторию{m}.",
    "Город продал мельницу пекарю, а пруд стал общественным садом{m}.",
)
CHINESE = (
    "阅览室的玻璃屋顶下摆放着{n}把椅子{m}。",
    "夏季的大部分日子里，开往小岛的船都从北码头出发{m}。",
    "第二座桥于{y}年建成，道路由此跨过旧运河{m}。",
    "上游山谷的农民每周五在集市上出售苹果、奶酪和羊毛{m}。",
    "档案馆在车站附近安顿下来之前曾经搬迁过两次{m}。",
    "游客沿海岸散步时最多可以借用{n}张地图{m}。",
    "自{y}年以来，没有人测量过这座塔的高度{m}。",
    "它的墙很厚，窗户很小，地窖里全年都很凉爽{m}。",
    "镇议会为冬季的每一次航行向渡轮公司付费{m}。",
    "乐团于{y}年在旧发电厂举行了第一场音乐会{m}。",
    "大雨封闭了山路，校车只好绕道而行{m}。",
    "博物馆展出沿岸人家使用过的渔网、书信和工具{m}。",
    "造船厂约有{n}名工人，大多来自邻近的两座城镇{m}。",
    "灯塔现在还在使用吗{m}？",
    "暴风雨损坏了剧院的屋顶，经过长期修缮后剧院重新开放{m}。",
    "镇上把磨坊卖给了面包师，磨坊的池塘成了公共花园{m}。",
)
PROSE = {"en": ENGLISH, "ru": RUSSIAN, "zh": CHINESE}


def sentences(language: str, count: int, *, marker: str = "", seed: int = 7) -> list[str]:
    """`count` sentences of a language, none the same as the one before; `marker` stands before each terminator."""
    chance = random.Random(seed)
    texts = PROSE[language]
    order: list[str] = []
    while len(order) < count:
        order += chance.sample(texts, len(texts))
    return [text.format(n=chance.randint(11, 980), y=chance.randint(1801, 2019), m=marker) for text in order[:count]]


def prose(language: str, chars: int, *, marker: str = "", seed: int = 7) -> str:
    """At least `chars` code points of a language."""
    gap = "" if language == "zh" else " "
    text: list[str] = []
    size = 0
    for sentence in sentences(language, chars // 8 + 20, marker=marker, seed=seed):
        text.append(sentence)
        size += len(sentence) + len(gap)
        if size >= chars:
            break
    return gap.join(text)
