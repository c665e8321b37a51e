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

func TestADigestOfSectionsIsThatOfTheBody(t *testing.T) {
	s := sections{spec: section{json: []byte(`{"a":1}`)}, status: section{json: []byte(`{"b":[2]}`)}}
	if whole := digest([]byte(`{"status":{"b":[2]},"spec":{"a":1}}`)); s.digest() != whole {
		t.Errorf("%s instead of %s", s.digest(), whole)
	}
}
