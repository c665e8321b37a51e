// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/robfig/cron/v3"

	"github.com/fairlead-dev/fairlead/api/common"
)

func TestAnExpressionThatCannotBeReadSaysWhichFieldAndWhatItTakes(t *testing.T) {
	for expression, want := range map[common.Cron]string{
		"61 * * * *":    `minute "61": takes 0-59, *, lists, ranges and steps`,
		"* 24 * * *":    `hour "24": takes 0-23, *, lists, ranges and steps`,
		"0 3 L * *":     `day-of-month "L": takes 1-31, *, lists, ranges and steps; the last day of a month cannot be named`,
		"0 3 0 * *":     `day-of-month "0": takes 1-31`,
		"0 3 * foo *":   `month "foo": takes 1-12 or JAN-DEC`,
		"0 3 * * 7":     `day-of-week "7": takes 0-6 or SUN-SAT, *, lists, ranges and steps; Sunday is 0`,
		"0 3 * * 5#3":   `day-of-week "5#3": takes 0-6`,
		"0 5-3 * * *":   `hour "5-3": a range goes from the lower to the higher value`,
		"*/0 * * * *":   `minute "*/0": a step is a number of 1 or more, as in */5`,
		"*/x * * * *":   `minute "*/x": a step`,
		"1/2/3 * * * *": `minute "1/2/3": a step`,
		"1,,2 * * * *":  `minute "": takes 0-59`,
		"-1 * * * *":    `minute "-1": takes 0-59`,
		"0 3 * *":       `must have five fields, minute hour day-of-month month day-of-week, and has 4`,
		"0 0 3 * * *":   `must have five fields, minute hour day-of-month month day-of-week, and has 6`,
		"":              `must have five fields`,
		"@fortnightly":  `there is no @fortnightly: use @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, or five fields`,
		"@every 5m":     `@every is not a schedule: use an interval`,
	} {
		_, err := Parse(expression, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %s", expression, err, want)
		}
		for _, leak := range []string{"strconv", "parse int", "failed to"} {
			if err != nil && strings.Contains(err.Error(), leak) {
				t.Errorf("Parse(%q): %v: %q tells of the code", expression, err, leak)
			}
		}
	}
}

// robfig/cron is the parser that Kubernetes has for CronJobs.
func TestFieldsAreReadAsACronJobReadsThem(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 7))
	accepted := 0
	for range 50_000 {
		expression := drawExpression(r)
		if sameAsPeer(t, expression) {
			accepted++
		}
	}
	if accepted < 5_000 {
		t.Errorf("%d of 50000 expressions were accepted: they say little", accepted)
	}
	for macro := range macros {
		if !sameAsPeer(t, macro) {
			t.Errorf("%s was refused", macro)
		}
	}
}

// drawExpression makes five fields. A third of them are invalid.
func drawExpression(r *rand.Rand) string {
	items := []string{"*", "?", "*/2", "*/15", "0", "1", "5", "7", "12", "1-5", "2-4/2", "3/4", "*/70", "0-0", "jan", "Feb-MAR", "sun", "MON-fri", "1,3", "*,2"}
	if r.IntN(6) == 0 {
		items = append(items, "60", "31", "24", "6-2", "L", "", "1-", "-1", "*/0", "a", "1/2/3", "1-2-3", "5,,6")
	}
	texts := make([]string, 5)
	for i := range texts {
		texts[i] = items[r.IntN(len(items))]
	}
	return strings.Join(texts, " ")
}

// sameAsPeer compares one expression, and reports whether both accept it. Ours refuses two things that the
// peer reads without a word: an empty item of a list, and an end after a star, as in *-5.
func sameAsPeer(t *testing.T, expression string) bool {
	t.Helper()
	mine, err := parseFields(expression)
	peer, theirs := cron.ParseStandard(expression)
	stricter := strings.Contains(expression, ",,") || strings.HasPrefix(expression, ",") || strings.Contains(expression, " ,") ||
		strings.Contains(expression, ", ") || strings.HasSuffix(expression, ",") || strings.Contains(expression, "*-") || strings.Contains(expression, "?-")
	if err != nil || theirs != nil {
		if (err == nil) != (theirs == nil) && (!stricter || err == nil) {
			t.Errorf("%q: %v, robfig/cron %v", expression, err, theirs)
		}
		return false
	}
	const star = 1 << 63
	spec, ok := peer.(*cron.SpecSchedule)
	if !ok {
		t.Fatalf("%q: robfig/cron read %T", expression, peer)
	}
	want := fields{spec.Minute &^ star, spec.Hour &^ star, spec.Dom &^ star, spec.Month &^ star, spec.Dow &^ star, (spec.Dom|spec.Dow)&star == 0}
	if mine != want {
		t.Errorf("%q: %+v, robfig/cron %+v", expression, mine, want)
	}
	return true
}

func TestLongStepsMatchTheFirstValueAlone(t *testing.T) {
	for expression, want := range map[common.Cron]string{
		"*/61 * * * *": "*/61", "*/59 * * * *": "", "0,*/60 */24 * * *": "*/60 */24", "10-20/30 * * * *": "10-20/30", "5/30 * * * *": "",
		"* * * * */7": "*/7", "@daily": "", "nonsense": "",
	} {
		if got := strings.Join(LongSteps(expression), " "); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

func TestADayOfTheMonthOrOfTheWeekSuffices(t *testing.T) {
	for expression, want := range map[common.Cron]bool{
		"0 2 1-7 * 0": true, "0 2 1-7 * SUN": true, "0 2 13 * 5": true, "0 2 1-7 * *": false, "0 2 * * 0": false, "0 2 ? * 0": false,
		"0 2 */2 * 0": true, "@weekly": false, "0 2 * *": false, "0 2 1-7 * 9": false,
	} {
		if got := MatchesEitherDay(expression); got != want {
			t.Errorf("%s: %t", expression, got)
		}
	}
}
