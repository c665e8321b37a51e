// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

var toys = Envelope{Kind: "ToyReview", APIVersion: "toys.example.com/v1", Versions: "the toy's versions"}

// visit reads a request of a text, an object and a list of texts.
func visit(name []byte, value jsonindex.Value) (err error) {
	switch string(name) {
	case "text":
		_, err = String(value)
	case "object":
		err = Members(value, visit)
	case "list":
		err = Items(value, func(item jsonindex.Value) error { return visit([]byte("text"), item) })
	}
	return err
}

func TestAReviewOfAnotherFormIsRefusedWithItsPlace(t *testing.T) {
	review := func(request string) string {
		return `{"kind":"ToyReview","apiVersion":"toys.example.com/v1","request":` + request + `}`
	}
	var many []string
	for i := range maxMembers + 1 {
		many = append(many, fmt.Sprintf(`"%d":1`, i))
	}
	for body, says := range map[string]string{
		`[]`: "the body must be an object", `null`: "the body must be an object", `hello`: "invalid character", `{}{}`: "more after the end",
		`{"kind":1}`: "/kind must be a string", `{"kind":"ToyReview","kind":"ToyReview"}`: `"kind" is given twice`,
		review(`{"text":1}`): "/request/text must be a string", review(`{"object":[]}`): "/request/object must be an object",
		review(`{"object":{"object":{"list":{}}}}`): "/request/object/object/list must be an array", review(`{"list":["a",{}]}`): "/request/list/1 must be a string",
		review(`{"a~/b":1,"a~/b":1}`): `"a~/b" is given twice`, review(`{` + strings.Join(many, ",") + `}`): "/request has more than 64 members",
		review(`7`): "/request must be an object", review(`null`): "has no request", review(`{}`): "has no request",
		`{"kind":"Toy","request":{"x":1}}`: `of kind "Toy"`, `{"kind":"ToyReview","apiVersion":"v2","request":{"x":1}}`: "put v1 into the toy's versions",
	} {
		var refusal *Refusal
		err := toys.Request(jsonindex.NewDocument(), []byte(body), visit)
		if !errors.As(err, &refusal) || refusal.Code != 400 || !strings.Contains(err.Error(), says) {
			t.Errorf("%.80s: error is %v, want %q in it", body, err, says)
		}
	}
	if err := toys.Request(jsonindex.NewDocument(), []byte(review(`{"text":null,"object":null,"list":null,"more":[{}]}`)), visit); err != nil {
		t.Errorf("nulls are refused: %v", err)
	}
}

// A review of 4 MiB holds some 800,000 nulls, and is read before anything bounds the time.
func TestNullsAreReadInTimeInProportionToTheirNumber(t *testing.T) {
	body := `{"kind":"ToyReview","apiVersion":"toys.example.com/v1","request":{"list":[null` + strings.Repeat(",null", 200_000) + `]}}`
	began := time.Now()
	if err := toys.Request(jsonindex.NewDocument(), []byte(body), visit); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("200,000 nulls took %s", took)
	}
}
