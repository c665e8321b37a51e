// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import "testing"

func TestADigestIsOfWhatIsSaidAndNotOfHow(t *testing.T) {
	want := digest([]byte(`{"spec":{"a":[1,"two",null,{"b":true}],"long":"more than eight bytes","c":{}},"status":{"x":0}}`))
	for _, same := range []string{
		"{ \"status\" : {\"x\":0},\n\"spec\":{\"c\":{ },\"long\":\"more than eight bytes\",\"a\":[ 1 ,\"two\",null,{\"b\":true}]} }",
		`{"spec":{"a":[1,"two",null,{"b":true,"d":null}],"long":"more than eight bytes","c":{}},"more":null,"status":{"x":0}}`,
	} {
		if got := digest([]byte(same)); got != want {
			t.Errorf("%s has another digest", same)
		}
	}
	seen := map[string]string{}
	for _, other := range []string{
		`{"spec":{"a":[1,"two",null,{"b":true}],"long":"more than eight bytes","c":[]},"status":{"x":0}}`,
		`{"spec":{"a":[1,"two",null,{"b":true}],"long":"more than eight byteS","c":{}},"status":{"x":0}}`,
		`{"spec":{"a":["two",1,null,{"b":true}],"long":"more than eight bytes","c":{}},"status":{"x":0}}`,
		`{"spec":{"a":[1,"two",{"b":true}],"long":"more than eight bytes","c":{}},"status":{"x":0}}`,
		`{"spec":{"a":[1,"two",null,{"b":true}],"long":"more than eight bytes","c":{}},"status":{"y":0}}`,
		`{"spec":{"a":[1,"two",null,{"b":"true"}],"long":"more than eight bytes","c":{}},"status":{"x":0}}`,
		`{"status":{"a":[1,"two",null,{"b":true}],"long":"more than eight bytes","c":{}},"spec":{"x":0}}`,
		`{}`, `{"spec":{}}`, `{"spec":[]}`, `{"spec":""}`, `{"spec":"{}"}`, `{"a":{"b":1},"c":{}}`, `{"a":{},"c":{"b":1}}`, `[[],[[]]]`, `[[[]],[]]`, `"12345678"`, `"123456789"`, `1`, `"1"`,
	} {
		got := digest([]byte(other))
		if twin, has := seen[got]; has || got == want {
			t.Errorf("%s has the digest of %s", other, twin)
		}
		seen[got] = other
	}
}

func TestADigestOfSectionsIsThatOfTheBodyWithoutItsStatus(t *testing.T) {
	s := sections{spec: section{json: []byte(`{"a":1}`)}, status: section{json: []byte(`{"b":[2]}`)}}
	if whole := digest([]byte(`{"spec":{"a":1}}`)); s.digest() != whole {
		t.Errorf("%s instead of %s", s.digest(), whole)
	}
}

// Objects in storage carry digests of former releases.
func TestADigestStaysWhatItWas(t *testing.T) {
	for text, want := range map[string]string{
		`{"spec":{"a":[1,"two",null,{"b":true}],"long":"more than eight bytes","c":{}},"status":{"x":0}}`: "53ac4753eb2ef55cea8cb84e3f27a531",
		"{\"text\":\"\\\"quoted\\\\\",\"\u00e4\":[-1.5e3,\"\",[[]],\"12345678\"] , \"n\" : null}":         "6c45513c457e788c4555d6aff6528a4c",
	} {
		if got := digest([]byte(text)); got != want {
			t.Errorf("%s: %s instead of %s", text, got, want)
		}
	}
}

func TestADigestOfWhatIsNoJSONEnds(t *testing.T) {
	whole := `{"a":[1,"two",null,{"b":true}],"c":{},"\"":"\\\\"}`
	seen := map[string]bool{}
	for end := range len(whole) {
		seen[digest([]byte(whole[:end]))] = true
		seen[digest([]byte(whole[end:]))] = true
	}
	if len(seen) < len(whole) {
		t.Errorf("%d digests of %d texts", len(seen), 2*len(whole))
	}
}
