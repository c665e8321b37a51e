// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestTheNamesOfServicesAreResolvedAndNoOthers(t *testing.T) {
	lookup := func(name, namespace string) string {
		return map[string]string{"web/shop": "10.96.0.7", "headless/shop": "None"}[name+"/"+namespace]
	}
	for name, want := range map[string]struct {
		kind    dnsmessage.Type
		code    dnsmessage.RCode
		answers int
	}{
		"web.shop.svc.cluster.local.":             {dnsmessage.TypeA, dnsmessage.RCodeSuccess, 1},
		"other.shop.svc.cluster.local.":           {dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
		"headless.shop.svc.cluster.local.":        {dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
		"web.shop.svc.default.svc.cluster.local.": {dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
		"web.shop.svc.":                           {dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
		"db.example.com.":                         {dnsmessage.TypeAAAA, dnsmessage.RCodeNameError, 0},
	} {
		query, err := (&dnsmessage.Message{
			Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
			Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: want.kind, Class: dnsmessage.ClassINET}},
		}).Pack()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := respond(query, lookup)
		if err != nil {
			t.Fatal(err)
		}
		var got dnsmessage.Message
		if err := got.Unpack(raw); err != nil {
			t.Fatal(err)
		}
		if got.ID != 7 || !got.Response || got.RCode != want.code || len(got.Answers) != want.answers {
			t.Errorf("%s: %+v", name, got)
		} else if want.answers == 1 && got.Answers[0].Body.(*dnsmessage.AResource).A != [4]byte{10, 96, 0, 7} {
			t.Errorf("%s: %v", name, got.Answers)
		}
	}
	if _, err := respond([]byte("x"), lookup); err == nil {
		t.Error("what is no query has a response")
	}
}
