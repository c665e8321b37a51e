// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"strings"
	"testing"
)

func TestNoOtherTextIsAnApproval(t *testing.T) {
	genuine := Value("ann", "sha256:1")
	if !Covers(genuine, "sha256:1") || Covers(genuine, "sha256:2") {
		t.Fatalf("%s covers what it should not, or does not cover what it should", genuine)
	}
	for name, value := range map[string]string{
		"nothing": "", "a word": "ann", "null": "null", "a list": "[]", "no digest": `{"user":"ann"}`,
		"an empty digest": `{"user":"ann","digest":""}`, "wrong type": `{"digest":1}`,
		"more after it": genuine + "{}", "too long": genuine + strings.Repeat(" ", maxValue),
	} {
		if Covers(value, "sha256:1") || Covers(value, "") {
			t.Errorf("%s is taken for an approval", name)
		}
	}
	if value := WithDigest("no approval", "sha256:1"); value != "" {
		t.Errorf("no approval becomes %s", value)
	}
	if Covers(Value("ann", ""), "") {
		t.Error("nothing is approved, and taken for something")
	}
}

func TestAnApprovalIsBoundedAndOfOneUser(t *testing.T) {
	seen := map[string]string{}
	for _, user := range []string{"", "ann", strings.Repeat("x", 256), strings.Repeat("x", 257), strings.Repeat("x", 100_000),
		strings.Repeat("\x01", 300), strings.Repeat("\xff", 300), strings.Repeat("ä", 300), `","digest":"sha256:2`} {
		digest := (digestParts{"a"}).digest()
		value := Value(user, digest)
		if other, taken := seen[value]; taken {
			t.Errorf("%.40q and %.40q have the same approval", user, other)
		}
		seen[value] = user
		if other := WithDigest(WithDigest(value, "sha256:2"), digest); other != value {
			t.Errorf("%.40q: with another digest and back it is %.200s", user, other)
		}
		if len(value) > maxValue || !Covers(value, digest) || Covers(value, "sha256:2") {
			t.Errorf("%.40q: %d bytes, %.200s", user, len(value), value)
		}
	}
}

func TestADigestIsOfItsPartsAlone(t *testing.T) {
	of := func(values ...string) string {
		var p digestParts
		for _, value := range values {
			p.add(value)
		}
		return p.digest()
	}
	if of() != "" {
		t.Error("there is nothing to digest")
	}
	if of("a", "b") != of("b", "a") || of("a", "b") != of("b", "a", "b") {
		t.Error("order or repetition matters")
	}
	seen := map[string][]string{}
	for _, values := range [][]string{{}, {"a"}, {"b"}, {"a", "b"}, {`a"]` + "\n" + `["b`}, {"ab"}, {"a\nb"}, {""}} {
		if other, taken := seen[of(values...)]; taken {
			t.Errorf("%q and %q have the same digest", values, other)
		}
		seen[of(values...)] = values
	}
}
