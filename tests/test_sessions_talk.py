"""Detectors on ways of talking that a second set of written sessions brought up; each test names one cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from experience_forge.core.phrases import Before
from experience_forge.core.speakers import hear
from experience_forge.store import session_signals
from helpers_sessions import Transcript
from test_sessions_signals import AFTER_WORK, labels

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    "text",
    [
        "no regressions anywhere, lovely",
        "no surprises in the diff, merge it",
        "nope, that's all for tonight",
        "nah we're good",
    ],
)
def test_no_before_a_noun_or_a_goodbye_rejects_nothing(text):
    """`No` counts as a refusal before a pause or a statement, not as a word of quantity or thanks."""
    assert labels(text) == set()


@pytest.mark.parametrize("text", ["no, the header goes below", "no it belongs to the parser", "nope same crash", "nah"])
def test_no_before_a_statement_rejects(text):
    """A refusal needs no comma when a statement follows, and may stand alone."""
    assert "correction" in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        "doesn't install",
        "isn't sorted by date, still unsorted and broken",
        "is still broken on tablets",
        "does nothing when tapped",
    ],
)
def test_a_statement_without_a_subject_is_no_question(text):
    """Terse writers leave the subject out; an auxiliary in front asks only when a subject follows."""
    assert "correction" in labels(text)


@pytest.mark.parametrize("text", ["isn't it broken now?", "doesn't the build fail there", "is this still wrong"])
def test_an_auxiliary_before_its_subject_asks(text):
    """A question is no correction."""
    assert labels(text) == set()


@pytest.mark.parametrize("text", ["never commit the lock file again, ok?", "以后都写单元测试，好吗？"])
def test_a_softened_order_is_an_order(text):
    """`, ok?` and its like ask nothing."""
    assert "preference" in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        "that's not how I pictured it but it's much better",
        "it isn't what I asked for, but I like it, leave it in",
        "和我说的不一样，不过没关系",
    ],
)
def test_praise_after_but_takes_the_complaint_back(text):
    """What a sentence grants in its end counts."""
    assert labels(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "I had that backwards, sorry, I should've read the docs",
        "我刚才写反了",
        "that's not your fault",
        "我没说你弄错，只是问问",
    ],
)
def test_blame_that_is_not_the_agents(text):
    """Who takes the blame, or frees the agent of it, corrects nothing."""
    assert labels(text) == set()


@pytest.mark.parametrize("text", ["现在不卡了", "重启以后没再崩溃了", "这次不会闪退了"])
def test_a_failure_that_is_over_is_no_failure(text):
    """In Chinese a negated failure says that it is mended."""
    assert labels(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "now the sidebar overlaps the footer",
        "and now there's a gap above every card",
        "it still scrolls sideways",
        "the badge now blinks twice",
        "barely changed anything",
        "图片全变成灰色了",
        "点一下列表就没了",
    ],
)
def test_what_is_seen_after_an_edit_tells_that_it_failed(text):
    """A bare report of what happens now counts when the agent has just changed something, else not."""
    assert "correction" in labels(text)
    assert labels(text, Before(after=True)) == set()


@pytest.mark.parametrize(
    "text",
    ["now it works", "now it loads in two seconds, great", "now the same for the other page please", "it still works"],
)
def test_what_goes_well_now_is_no_complaint(text):
    """`Now` and `still` before good news or a wish mark nothing."""
    assert labels(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "the column must be UTC, this is local time",
        "we wanted it behind a flag",
        "you went with a singleton, a plain function is enough",
        "unfortunately our servers run Debian",
        "字段叫 user_id 不是 uid",
        "其实并没有重试",
    ],
)
def test_facts_set_against_the_work(text):
    """What is set against delivered work corrects it, and says nothing where nothing was delivered."""
    assert "correction" in labels(text)


@pytest.mark.parametrize(
    "text", ["next time slot is at noon, book it", "he told us it was wrong last year", "revert my commit from Monday"]
)
def test_words_that_only_look_like_cues(text):
    """Compound nouns, the past, and the person's own commits are no cues."""
    assert labels(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "stop writing essays in the comments, ever",
        "whenever I say ship, you should tag a release",
        "keep in mind for the rest of the project that dates are UTC",
        "put this in your notes: staging has no mail server",
        "凡是删数据的操作都要先备份",
        "项目里别再加新的全局变量",
    ],
)
def test_more_forms_of_lasting_wishes(text):
    """Wishes for good are found without the classic opening words."""
    assert "preference" in labels(text)


def test_a_lasting_ban_blames_nothing():
    """An order for later, marked as a rule, is a preference and no correction."""
    assert labels("Rule for all services: never change the public API") == {"preference"}


def test_after_a_refusal_the_agent_went_on(tmp_path):
    """What is said after the agent took a refusal up and went on is not said to the refusal."""
    made = Transcript().prompt("rename the column").edit().prompt("[Request interrupted by user]")
    made.prompt("use a new migration file for it").edit("/home/dev/shop/0002.sql").answer("Renamed.")
    turns = session_signals.of_file(
        made.prompt("looks like the other ones, on to the model").write(tmp_path / "s.jsonl")
    ).turns
    assert turns[-1].labels == []


def test_each_round_counts_once_whoever_saw_the_failure(tmp_path):
    """Rounds after the person's rejection and after the repeated failure of a check add up: the demo has three."""
    made = Transcript().prompt("make the total right").edit()
    made.run(output="Exit code 1\nFAILED", failed=True).edit().run(output="Exit code 1\nFAILED", failed=True)
    made.answer("Nearly.").prompt("no, never round prices").edit()
    made.run(output="Exit code 1\nFAILED", failed=True).edit().run()
    assert [e.rework_rounds for e in session_signals.of_file(made.write(tmp_path / "s.jsonl")).episodes] == [3]
    demo = session_signals.of_file(ROOT / "examples/demo/session.jsonl")
    assert [e.rework_rounds for e in demo.episodes] == [3]


def test_contentment_ends_an_episode(tmp_path):
    """After the person was content, the next correction is about another matter, though in the same file."""
    made = Transcript().prompt("sort the list").edit().answer("Done.").prompt("that's wrong, descending").edit()
    made.answer("Done.").prompt("perfect, thanks").answer("Good.").prompt("the footer is too big").edit()
    assert next(e.rework_rounds for e in session_signals.of_file(made.write(tmp_path / "s.jsonl")).episodes) == 1


def test_cues_hold_only_after_work_where_they_report():
    """The same words before any work are a task."""
    assert labels("the page now scrolls sideways", Before()) == set()
    assert "correction" in labels("the page now scrolls sideways", AFTER_WORK)


EDITED = Before(after=True, work=True, own=True, edited=True)


@pytest.mark.parametrize(
    "text",
    [
        "the tooltip covers only half of the label",
        "safari drops the cookie",
        "you indexed the other column",
        "those helpers just wrap the same call",
        "手机上按钮叠在一起，只露出一半",
        "接口返回的是数组，你当成对象了",
    ],
)
def test_a_bare_statement_right_after_edits_keeps_the_problem_open(text):
    """A denial, a contrast, a symptom or `you`, stated after edits, is no correction yet; the next edit is a round."""
    phrases = session_signals.detectors().phrases
    assert phrases.states(text, EDITED) and not phrases.states(text, Before(after=True))


@pytest.mark.parametrize(
    "text",
    [
        "the first page comes up within a second",
        "support says nobody called about it",
        "add only the header to the export",
        "ok, the rest can stay as it was",
        "I'll only need the csv",
        "客户那边没再投诉",
        "再加一个只读字段",
        "it's C",
    ],
)
def test_good_news_wishes_and_third_parties_are_no_bare_complaint(text):
    """Statements that deny nothing, wishes, consents and what others say mark nothing, even after edits."""
    phrases = session_signals.detectors().phrases
    assert phrases.find(text, EDITED) == [] and not phrases.states(text, EDITED)


@pytest.mark.parametrize(
    "text",
    [
        "my manager thinks the font is too small, what do you suggest",
        "客户说不要弹窗，那就做成侧边栏",
        "hmm I changed my mind, the counter is useless anyway",
        "oops wrong terminal, go on",
        "it's still failing on his laptop, ignore that",
        "那个告警还是会报错，忽略就好",
        "I wrote this loop, the exit condition is wrong I guess",
    ],
)
def test_what_others_think_a_change_of_mind_and_what_is_to_be_left_blame_nobody(text):
    """A third party's opinion, a change of mind, a slip and a matter to be ignored are no corrections."""
    phrases = session_signals.detectors().phrases
    assert "correction" not in labels(text)
    assert phrases.find(text, EDITED) == [] and not phrases.states(text, EDITED)


@pytest.mark.parametrize(
    "text",
    [
        "great. next: the landing page is too slow on phones, find out why",
        "ok. now the invoice table, at most 8 rows",
        "好的，接下来登录页太慢了，优化一下",
        "write the release notes, but don't mention prices",
        "写到文档里，不要写得太细",
        "余额不够的时候按钮变灰",
        "失败了就返回空列表",
    ],
)
def test_the_next_task_says_how_things_are_and_blames_nothing(text):
    """What goes on to the next task, and limits set inside an order, are no corrections."""
    assert "correction" not in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        "FAILED tests/test_io.py::test_roundtrip - AssertionError: assert 3 == 4",
        "psycopg2.OperationalError: connection refused",
        "Error: cannot find module\n    at Object.<anonymous> (/srv/app/index.js:3:1)",
        "Runtime Error in model orders (models/orders.sql)\n  404 Not found: Dataset x was not found",
    ],
)
def test_an_error_pasted_without_a_word_is_a_paste(text):
    """Output alone says nothing in the person's own words; what is set in below a line of output belongs to it."""
    assert hear(text).why == "paste"
    assert labels(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "the log is too chatty",
        "the clock is way off now",
        "I am afraid the total counts refunds twice",
        "now nobody gets a notification",
        "the summary shows 0 for every week",
        "nobody said anything about a second queue",
        "重启之后又要登录一次，token 没存住",
        "导出的框全是歪的",
        "原来的文件里是好的",
    ],
)
def test_a_fault_told_in_plain_words_after_work_is_a_correction(text):
    """What is too much, off, zero, lost again or was good before, said of work just done, corrects it."""
    assert "correction" in labels(text)


def test_a_wish_that_begins_with_the_word_error_is_no_paste():
    """A prompt that only begins with the word is the person's own."""
    assert hear("Error handling is missing in the upload").why == "person"


@pytest.mark.parametrize(
    "text",
    [
        "can you look at the importer? I had an error there last spring and it was a pain",
        "does the parser cope with tabs? the old one didn't work for me with them",
        "how long would a full run take? I don't need it to be exact",
    ],
)
def test_what_follows_a_question_gives_its_background(text):
    """A prompt that begins with a question asks; a complaint after it describes, unless a cue counts in questions."""
    assert "correction" not in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        "why did you drop the index?? put it back",
        "why is it still failing on the second run?",
    ],
)
def test_a_question_that_blames_counts(text):
    """Blame put as a question is blame."""
    assert "correction" in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        "created_on, not updated_on",
        "no extra table please",
        "put back the helper you removed",
        "take the retry out of the loop",
        "don't fill it with zeros",
        "nobody decided that",
        "it reads like an advert",
        "that's a lot of code for one flag",
        "why would you cache this?",
        "you list six hosts but two of them are retired",
        "the amount is still a float",
        "改过头了，只动标题",
        "价格列是分，要元",
        "单位是秒，我前面说了",
        "弹窗不要自己写，用公共组件",
    ],
)
def test_terse_objections_to_work_just_done_are_corrections(text):
    """One thing in place of another, more than was asked, a denial: said right after work, they correct it."""
    assert "correction" in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        "dont change anything yet, only look",
        "it's ugly but ok",
        "not a single timeout since yesterday, love it",
        "oh wait, I looked at the old log",
        "1. no, weekly\n2. the second one",
        "nvm the warning, wrong branch",
        "先不要提交，我看完再说",
        "我自己配错了，已经改好",
        "woohoo, not one failure",
    ],
)
def test_limits_slips_and_good_news_are_no_corrections(text):
    """A limit for now, an own slip, an answer by number, and praise blame nothing."""
    assert "correction" not in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        "Please keep summaries under five lines, always.",
        "We write American spelling in all our docs.",
        "I don't want abbreviations in any of our names",
        "每次改完配置先把差异列出来",
        "提交之前都要跑一遍测试",
    ],
)
def test_rules_for_all_times_and_all_things_are_preferences(text):
    """What holds always, everywhere, or each time is meant to last."""
    assert "preference" in labels(text)


def test_a_fact_that_holds_from_now_on_is_no_preference():
    """`From now on` before what a thing does tells news."""
    assert "preference" not in labels("From now on the job runs at five, ops moved it")


@pytest.mark.parametrize(
    "text",
    [
        "ok, the export is too slow for that anyway",
        "add a retry, the old client didn't work without one",
        "is it slow because the cache isn't used? that looks wrong to me",
        "好的，之前那版没有生效",
    ],
)
def test_general_words_of_complaint_describe_after_a_consent_an_order_or_a_question(text):
    """`too`, `wrong`, `didn't work` in a prompt that consents, orders or asks tell how things are."""
    assert "correction" not in labels(text)


@pytest.mark.parametrize("text", ["ok but the export is too slow", "yes but that's wrong", "no, it is too slow"])
def test_a_consent_that_is_taken_back_complains(text):
    """`ok but` consents to nothing."""
    assert "correction" in labels(text)


def test_what_is_said_after_an_interrupt_redirects_when_it_denies(tmp_path):
    """An interrupt alone tells little: six of nine prompts after one are ordinary."""
    phrases = session_signals.detectors().phrases
    stopped = Before(after=True, work=True, own=True, stopped=True)
    assert [hit.kind for hit in phrases.find("that belongs in the other file, not here", stopped)] == ["correction"]
    assert phrases.find("the bins go into the config", stopped) == []
    assert phrases.find("ship it", stopped) == []


@pytest.mark.parametrize(
    "text",
    [
        "Nitpick (non-blocking): the changelog still lists the old flag.",
        "lint-bot: `infra/main.tf` is missing an owner. Files without an owner are not merged.",
        "In `0007_rates.py` the reverse step is `noop`, so a rollback would leave the column filled and used.",
    ],
)
def test_a_comment_of_a_review_is_a_third_party(text):
    """Comments with the labels of a review or a bot's name, and formal prose with names in backticks, are pasted."""
    assert hear(text).why == "review"


def test_what_the_browser_prints_is_a_paste():
    """Lines of a browser's console say nothing in the person's own words."""
    assert hear("GET https://shop.example/img/a.png 404 (Not Found)").why == "paste"


@pytest.mark.parametrize(
    "text",
    [
        "I don't want to go there if the small one is enough",
        "I don't need it now, I only ask because of the cost",
        "ohhh ok makes sense, I thought it was wrong",
        "sounds good. drive letters are too exotic",
        "这些配置怎么切换比较方便，每次改文件太麻烦了",
    ],
)
def test_wishes_consents_and_questions_blame_nothing(text):
    """What is not wanted or needed, what is understood now, and what is asked for is no correction."""
    assert "correction" not in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        "don't sleep in the loop",
        "Kindly do not put a sleep in the test",
        "please no symlinks",
        "the pictures are blurry now",
        "why did u install a framework??",
        "the logo is weird, on top of the menu??",
        "rather not with the account numbers",
        "改了之后还是三秒就超时了，是不是没有生效",
    ],
)
def test_orders_against_what_was_done_and_exclaimed_faults_are_corrections(text):
    """An order not to do so, a fault that is exclaimed rather than asked: said right after work, they correct it."""
    assert "correction" in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        "hmm the log looks wrong... false alarm, I had the old tab open",
        "oh no the menu is missing. It was the cache, all fine, sorry",
        "no but two seconds is a lot, let me think about it",
        "that number is wrong, but let's park it until Monday",
        "the first run is worse than the second, that's expected",
        "The wrong indentation in there doesn't matter",
        "这次没问题了，一整天都没再报",
        "先不管这个告警，影响太小了",
    ],
)
def test_what_ends_well_or_is_left_alone_is_no_correction(text):
    """A false alarm, something expected, or a matter that is put aside blames nobody, whatever words come before."""
    assert labels(text) == set()


@pytest.mark.parametrize(
    "text", ["这次没问题了，但是分页还是错的", "the spacing is wrong, no need to think about it long"]
)
def test_a_complaint_beside_good_news_still_counts(text):
    """Only when nothing is taken exception to afterwards does good news end the matter."""
    assert "correction" in labels(text)


@pytest.mark.parametrize("text", ["两个状态码别写反了", "导出能带上时区吗，有两条记录少了", "注意单位不要弄错了"])
def test_a_warning_or_a_question_before_a_fact_is_no_correction_in_chinese(text):
    """`别写反` warns of a mistake that nobody made; what follows `能…吗` tells why it is asked."""
    assert "correction" not in labels(text)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("我导师的批注：\n1. 图二不清楚，单位写错了\n2. 结论太长", "我导师的批注："),
        ("comments by the reviewer:\n- the name is wrong\n- this doesn't work with nulls", "comments by the reviewer:"),
        ("测试同学提的：\n【P2】列表少了一行", "测试同学提的："),
    ],
)
def test_what_somebody_else_wrote_is_not_the_persons(text, own):
    """A line that announces a third party's words makes all after it a paste, lists too."""
    heard = hear(text)
    assert heard.words == own and heard.pasted
    assert labels(text) == set()


def test_the_persons_own_list_stays_theirs():
    """A list of wishes under a colon that names nobody else is the person's."""
    assert "wrong" in hear("still not done:\n- the name is wrong\n- the total is wrong").words


def test_what_should_not_be_counts_only_right_after_a_change():
    """`should not` describes a wish unless the agent has just changed files."""
    text = "the banner should not cover the menu"
    assert "correction" in labels(text, before=Before(after=True, work=True, own=True, edited=True))
    assert labels(text, before=Before(after=True, work=True, own=True)) == set()
