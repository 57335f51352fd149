// A Go backend that accepts only requests of the gateway: IDENTITY_KEYS=… PORT=3000 go run backend.go
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

var keys = strings.Split(os.Getenv("IDENTITY_KEYS"), ",")

// isSigned reports whether the gateway sent the request within the last minute.
func isSigned(r *http.Request) bool {
	seconds, given := "", []string{}
	for _, part := range strings.Split(r.Header.Get("X-Login-Signature"), ",") {
		name, value, _ := strings.Cut(part, "=")
		if name == "t" && seconds == "" {
			seconds = value
		}
		if name == "v1" {
			given = append(given, value)
		}
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if age := time.Since(time.Unix(at, 0)); err != nil || age > time.Minute || age < -time.Minute {
		return false
	}
	// As it arrived, without the query: r.URL.Path is decoded.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	header := func(name string) string { return r.Header.Get("X-Login-" + name) }
	text := strings.Join([]string{seconds, header("Type"), header("Id"), header("Extra"), r.Method, path}, ".")
	for _, key := range keys {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(text))
		expected := hex.EncodeToString(mac.Sum(nil))
		for _, signature := range given {
			if hmac.Equal([]byte(signature), []byte(expected)) {
				return true
			}
		}
	}
	return false
}

func show(w http.ResponseWriter, r *http.Request) {
	if !isSigned(r) {
		http.Error(w, "this request did not come through the gateway", http.StatusUnauthorized)
		return
	}
	// On a path that needs no session, both are empty.
	client := map[string]string{"id": r.Header.Get("X-Login-Id"), "type": r.Header.Get("X-Login-Type")}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(client)
}

var client = http.Client{Timeout: 10 * time.Second}

// operate does one operation of the gateway on the sessions of consumers.
func operate(operation string, body map[string]string) (json.RawMessage, error) {
	sent, _ := json.Marshal(body)
	url := os.Getenv("INTERNAL_URL") + "/operations/v1/consumer/" + operation
	request, err := http.NewRequest("POST", url, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("INTERNAL_SECRET"))
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Code != 200 {
		return nil, fmt.Errorf("%s: %s", operation, answer.Message)
	}
	return answer.Data, nil
}

// isPassword is to be replaced: your program knows its users and their passwords.
func isPassword(text string) bool {
	demo := os.Getenv("DEMO_PASSWORD")
	return demo != "" && subtle.ConstantTimeCompare([]byte(text), []byte(demo)) == 1
}

// reply sends what an operation returned, or 502.
func reply(w http.ResponseWriter, data json.RawMessage, err error) {
	if err != nil {
		log.Print(err)
		http.Error(w, "the gateway refused", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

// signIn needs no session. The answer is {"token": "…"}, which the client sends from now on.
func signIn(w http.ResponseWriter, r *http.Request) {
	var given struct{ Name, Password string }
	if err := json.NewDecoder(r.Body).Decode(&given); err != nil || !isSigned(r) || !isPassword(given.Password) {
		http.Error(w, "wrong name or password", http.StatusUnauthorized)
		return
	}
	data, err := operate("login", map[string]string{"user_id": given.Name})
	reply(w, data, err)
}

// signOutEverywhere ends every session of the signed-in user.
func signOutEverywhere(w http.ResponseWriter, r *http.Request) {
	if !isSigned(r) || r.Method != http.MethodPost {
		http.Error(w, "this request did not come through the gateway", http.StatusUnauthorized)
		return
	}
	data, err := operate("kickout", map[string]string{"user_id": r.Header.Get("X-Login-Id")})
	reply(w, data, err)
}

func main() {
	http.HandleFunc("/api/v1/c/", show)
	http.HandleFunc("/api/v1/c/sign-out-everywhere", signOutEverywhere)
	http.HandleFunc("/api/v1/public/c/sign-in", signIn)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
