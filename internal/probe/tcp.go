// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// expectLimit limits what is read for one step, and of the body of a response.
const expectLimit = 4 << 10

// tcpStep is a step that is prepared: its texts without escapes, and sendFrom with its value.
type tcpStep struct {
	send   Confidential
	expect []byte
}

// tcpSteps returns the steps of a check; ok is false where one cannot be sent.
func (c *Check) tcpSteps() (steps []tcpStep, ok bool) {
	if c.TCPSocket == nil {
		return nil, true
	}
	values := c.Values
	for i := range c.TCPSocket.Steps {
		var value Confidential
		if c.TCPSocket.Steps[i].SendFrom != nil {
			if len(values) == 0 {
				return nil, false
			}
			value, values = values[0], values[1:]
		}
		step, sendable := newTCPStep(&c.TCPSocket.Steps[i], value)
		if !sendable {
			return nil, false
		}
		steps = append(steps, step)
	}
	return steps, true
}

func newTCPStep(s *common.TCPStep, value Confidential) (step tcpStep, ok bool) {
	before, after := s.Send, ""
	var middle []byte
	if s.SendFrom != nil {
		before, after, middle = s.SendFrom.Prefix, s.SendFrom.Suffix, value.Reveal()
	}
	prefix, err1 := rules.Unescape(before)
	suffix, err2 := rules.Unescape(after)
	expect, err3 := rules.Unescape(s.Expect)
	if err1 != nil || err2 != nil || err3 != nil {
		return tcpStep{}, false
	}
	step.expect = expect
	if text := slices.Concat(prefix, middle, suffix); len(text) > 0 {
		step.send = NewConfidential(text)
	}
	return step, true
}

// checkTCP takes the steps. What the server has sent after the match of a step is left for the next one.
func checkTCP(steps []tcpStep, conn net.Conn) outcome {
	var received []byte
	for i := range steps {
		if send := steps[i].send; send.isSet() {
			if _, err := conn.Write(send.Reveal()); err != nil {
				return outcomeOf(err, protocolError)
			}
		}
		if len(steps[i].expect) == 0 {
			continue
		}
		var result outcome
		if received, result = readUntil(conn, received, steps[i].expect, false); result != connected {
			return result
		}
	}
	return connected
}

// readUntil reads until a text was received, and returns the bytes after it. responded means that the server has responded
// already. The result tells a server with another response from one that does not respond.
func readUntil(from io.Reader, received, text []byte, responded bool) (rest []byte, result outcome) {
	read := append(make([]byte, 0, expectLimit), received...)
	for {
		if at := bytes.Index(read, text); at >= 0 {
			return read[at+len(text):], connected
		}
		if len(read) == expectLimit {
			return nil, unexpectedResponse
		}
		n, err := from.Read(read[len(read):expectLimit])
		read, responded = read[:len(read)+n], responded || n > 0
		if err == nil || n > 0 {
			continue // the next read returns the error once more
		}
		result = outcomeOf(err, protocolError)
		if isOver := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); responded && (isOver || result == timedOut) {
			return nil, unexpectedResponse
		}
		return nil, result
	}
}
