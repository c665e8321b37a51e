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
	// errForeign is a message that does not answer the question: late, of another question, or forged.
	errForeign = errors.New("not an answer to the question")
	// errTruncated is an answer that did not fit.
	errTruncated = errors.New("truncated answer")
)

// headerLen is the length of a message's header, and answerCount the offset of ANCOUNT.
const (
	headerLen   = 12
	answerCount = 6
)

// parse parses a message as the answer to a question. One with the right ID that cannot be parsed is an error of its
// own: the server replied. One that is truncated is returned with errTruncated.
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
		return reply, errTruncated
	}
	if err != nil {
		return nil, fmt.Errorf("unreadable answer: %w", err)
	}
	// The library returns no error if there are fewer records than the header says.
	if promised := int(binary.BigEndian.Uint16(message[answerCount:])); len(reply.Answer) < promised {
		return nil, fmt.Errorf("answer of %d records ends after %d", promised, len(reply.Answer))
	}
	return reply, nil
}

// answers reports whether a reply repeats the question. Servers may leave it out in errors only, and a question that
// cannot be parsed is none.
func answers(reply, question *dns.Msg) bool {
	if len(reply.Question) == 0 {
		return len(reply.Answer) == 0 && len(reply.Ns) == 0 &&
			reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError
	}
	got, want := reply.Question[0], question.Question[0]
	return len(reply.Question) == 1 && got.Qtype == want.Qtype && got.Qclass == want.Qclass && sameName(got.Name, want.Name)
}

// sameName compares names without case. The library escapes bytes beyond ASCII, so that nothing else folds.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }
