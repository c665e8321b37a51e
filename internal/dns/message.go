// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"
)

var (
	// errForeign is a message that does not answer the question: late, for another question, forged.
	errForeign = errors.New("not an answer to the question")
	// errTruncated is an answer that did not fit.
	errTruncated = errors.New("truncated answer")
)

// headerLen is the length of a message's header, and answerCount where in it the number of answers
// stands.
const (
	headerLen   = 12
	answerCount = 6
)

// parse reads a message as the answer to a question. What has the right ID but cannot be read is
// an error of its own kind: the server did answer, only badly.
func parse(message []byte, question *dns.Msg) (*dns.Msg, error) {
	if len(message) < headerLen || binary.BigEndian.Uint16(message) != question.Id {
		return nil, errForeign
	}
	reply := new(dns.Msg)
	err := reply.Unpack(message)
	if !reply.Response || reply.Opcode != dns.OpcodeQuery || !answers(reply, question) {
		return nil, errForeign
	}
	if reply.Truncated {
		return nil, errTruncated
	}
	if err != nil {
		return nil, fmt.Errorf("unreadable answer: %w", err)
	}
	// The library reads what is there, without a word on what the header promised beyond it.
	if promised := int(binary.BigEndian.Uint16(message[answerCount:])); len(reply.Answer) < promised {
		return nil, fmt.Errorf("answer of %d records ends after %d", promised, len(reply.Answer))
	}
	return reply, nil
}

// answers compares the question that a server repeats with the one that was asked. Servers may
// leave it out where they refuse, and only there; and a question that cannot be read is none.
func answers(reply, question *dns.Msg) bool {
	if len(reply.Question) == 0 {
		return len(reply.Answer) == 0 && len(reply.Ns) == 0 &&
			reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError
	}
	got, want := reply.Question[0], question.Question[0]
	return len(reply.Question) == 1 && got.Qtype == want.Qtype && got.Qclass == want.Qclass && sameName(got.Name, want.Name)
}

// sameName compares names as DNS does. The library writes bytes beyond ASCII as escapes, so that
// nothing else folds.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }
