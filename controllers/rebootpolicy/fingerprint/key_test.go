// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fingerprint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
)

func key(t testing.TB, fill byte) *fingerprint.Key {
	t.Helper()
	k, err := fingerprint.NewKey(bytes.Repeat([]byte{fill}, fingerprint.Size))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

type data = map[string][]byte

func TestContentsThatDifferHaveFingerprintsThatDiffer(t *testing.T) {
	k := key(t, 1)
	seen := map[string]string{}
	for name, made := range map[string]string{
		"nothing":                      k.Data(nil, nil),
		"a value":                      k.Data(data{"a": []byte("b")}, nil),
		"an empty value":               k.Data(data{"a": {}}, nil),
		"a boundary moved into value":  k.Data(data{"a": []byte("bc"), "d": []byte("e")}, nil),
		"a boundary moved into key":    k.Data(data{"ab": []byte("c"), "d": []byte("e")}, nil),
		"separators in a value":        k.Data(data{"a": []byte("b;c=d")}, nil),
		"separators between":           k.Data(data{"a": []byte("b"), "c": []byte("d")}, nil),
		"values exchanged":             k.Data(data{"a": []byte("d"), "c": []byte("b")}, nil),
		"a chosen key that is missing": k.Data(data{"a": []byte("b")}, []string{"x"}),
		"a chosen key that is empty":   k.Data(data{"x": {}}, []string{"x"}),
		"a chosen key of two":          k.Data(data{"x": {}}, []string{"x", "y"}),
		"a sum":                        k.Sum("a", []byte("b")),
		"a sum of the other domain":    k.Sum("b", []byte("b")),
		"a sum of no parts":            k.Sum("a"),
		"a sum of an empty part":       k.Sum("a", nil),
		"a sum of parts ab c":          k.Sum("d", []byte("ab"), []byte("c")),
		"a sum of parts a bc":          k.Sum("d", []byte("a"), []byte("bc")),
		"a sum with domain data":       k.Sum("data"),
		"another key":                  key(t, 2).Data(data{"a": []byte("b")}, nil),
	} {
		if other, ok := seen[made]; ok {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		seen[made] = name
		if !regexp.MustCompile(`^hmac:[A-Za-z0-9_-]{22}$`).MatchString(made) {
			t.Errorf("%s: %q is no fingerprint of 128 bits", name, made)
		}
	}
}

func TestContentsThatAreTheSameHaveTheSameFingerprint(t *testing.T) {
	k := key(t, 1)
	all := data{"a": []byte("1"), "b": []byte("2")}
	for name, same := range map[string][2]string{
		"made twice":                {k.Data(all, nil), key(t, 1).Data(data{"b": []byte("2"), "a": []byte("1")}, nil)},
		"other keys do not count":   {k.Data(all, []string{"a"}), k.Data(data{"a": []byte("1"), "b": []byte("3")}, []string{"a"})},
		"order of chosen keys":      {k.Data(all, []string{"a", "b"}), k.Data(all, []string{"b", "a"})},
		"a key that is named twice": {k.Data(all, []string{"a"}), k.Data(all, []string{"a", "a"})},
		"nil and empty values":      {k.Data(data{"a": nil}, nil), k.Data(data{"a": {}}, nil)},
		"all keys, by name":         {k.Data(all, nil), k.Data(all, []string{"a", "b"})},
	} {
		if same[0] != same[1] {
			t.Errorf("%s: %s and %s", name, same[0], same[1])
		}
	}
}

// The form of a fingerprint is stored in every policy: another one would be a change of everything.
func TestFingerprintsStayTheSameFromReleaseToRelease(t *testing.T) {
	k := key(t, 7)
	for got, want := range map[string]string{
		k.Data(data{"user": []byte("shop"), "password": []byte("x")}, nil): "hmac:ySYPqlwNoHLkdKo022XZGg",
		k.Sum("source", []byte("Secret"), []byte("shop")):                  "hmac:4P05sq4d5ehaXbNWCptkvQ",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestChosenKeysAreNotChanged(t *testing.T) {
	keys := []string{"b", "a"}
	key(t, 1).Data(nil, keys)
	if keys[0] != "b" {
		t.Error("the caller's keys were sorted")
	}
}

func TestAKeyIsNeverPrinted(t *testing.T) {
	k := key(t, 'K')
	encoded, err := json.Marshal(map[string]any{"key": k})
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{
		fmt.Sprintf("%v", k), fmt.Sprintf("%+v", k), fmt.Sprintf("%#v", k), fmt.Sprintf("%s", k), fmt.Sprintf("%x", k), fmt.Sprintf("%d", k),
		fmt.Sprintf("%+v", *k), fmt.Sprintf("%v", struct{ K *fingerprint.Key }{k}), string(encoded),
	} {
		for _, leak := range []string{"KKK", "4b4b", "75 75"} {
			if strings.Contains(printed, leak) {
				t.Errorf("%q holds the key", printed)
			}
		}
	}
}

func TestAKeyOfAnotherLengthIsRefused(t *testing.T) {
	for _, length := range []int{0, 31, 33} {
		_, err := fingerprint.NewKey(bytes.Repeat([]byte("K"), length))
		if err == nil {
			t.Errorf("%d bytes were taken", length)
		} else if strings.Contains(err.Error(), "K") {
			t.Errorf("%v holds bytes of the key", err)
		}
	}
}

// FuzzData builds two contents from the same bytes, cut in other places.
func FuzzData(f *testing.F) {
	f.Add([]byte("abcd"), uint8(1), uint8(2), uint8(2), uint8(1))
	f.Add([]byte(""), uint8(0), uint8(0), uint8(0), uint8(0))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x01a"), uint8(8), uint8(1), uint8(0), uint8(0))
	k := key(f, 3)
	f.Fuzz(func(t *testing.T, all []byte, a, b, c, d uint8) {
		one, other := cut(all, a, b), cut(all, c, d)
		same := len(one) == len(other)
		for name, value := range one {
			there, ok := other[name]
			same = same && ok && bytes.Equal(there, value)
		}
		if got := k.Data(one, nil) == k.Data(other, nil); got != same {
			t.Errorf("%q and %q: the fingerprints are the same: %v", one, other, got)
		}
	})
}

// cut makes a content of up to two keys.
func cut(all []byte, first, second uint8) data {
	i := min(int(first), len(all))
	j := min(i+int(second), len(all))
	made := data{string(all[:i]): all[i:j]}
	if j < len(all) {
		made[string(all[j:])] = nil
	}
	return made
}
