// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/internal/pauses/pausetest"
	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// The caller looks at the answer only after it has sent everything, which takes more than all the
// buffers on the way.
func TestACallerThatIsStillSendingReadsWhyItWasRefused(t *testing.T) {
	const size = 32 << 20
	for name, head := range map[string]string{
		"with a length":    fmt.Sprintf("Content-Length: %d\r\n\r\n", size),
		"without a length": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", size),
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, nil, func(s *Server) {
				s.Register("/refuse", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					review.Refuse(http.StatusRequestEntityTooLarge, "make it smaller").Respond(w)
				}))
			})
			r.waitReady(t)
			pausetest.Retry(t, func() error { // the server hears a caller out for a few seconds only
				conn, err := tls.Dial("tcp", r.Addr().String(), &tls.Config{InsecureSkipVerify: true})
				if err != nil {
					return err
				}
				defer closing(t, conn)
				if _, err := fmt.Fprintf(conn, "POST /refuse HTTP/1.1\r\nHost: x\r\n%s", head); err != nil {
					return err
				}
				if n, err := conn.Write(make([]byte, size)); err != nil {
					return fmt.Errorf("hung up on after %d bytes: %w", n, err)
				}
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					return err
				}
				defer closing(t, answer.Body)
				body, err := io.ReadAll(answer.Body)
				if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(body), "make it smaller") {
					return errors.Join(err, fmt.Errorf("answered %s %s", answer.Status, body))
				}
				return nil
			})
		})
	}
}
