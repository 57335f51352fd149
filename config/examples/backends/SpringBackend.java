// A Spring Boot 3 backend that accepts only requests of the gateway: IDENTITY_KEYS=… ./mvnw spring-boot:run
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.stereotype.Component;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.filter.OncePerRequestFilter;

@SpringBootApplication
@RestController
public class SpringBackend {
  public static void main(String[] args) {
    SpringApplication.run(SpringBackend.class, args);
  }

  // On a path that needs no session, both are empty.
  @GetMapping("/api/v1/c/**")
  Map<String, String> show(
      @RequestHeader(name = "X-Login-Id", defaultValue = "") String id,
      @RequestHeader(name = "X-Login-Type", defaultValue = "") String type) {
    return Map.of("id", id, "type", type);
  }

  record Credentials(String name, String password) {}

  // This path needs no session. The answer is {"token": "…"}, which the client sends from now on.
  @PostMapping("/api/v1/public/c/sign-in")
  ResponseEntity<?> signIn(@RequestBody Credentials given) throws IOException, InterruptedException {
    if (!isPassword(given.password())) return ResponseEntity.status(401).body(Map.of("error", "wrong name or password"));
    return ResponseEntity.ok(operate("login", Map.of("user_id", given.name())));
  }

  // Ends every session of the signed-in user.
  @PostMapping("/api/v1/c/sign-out-everywhere")
  Map<String, String> signOutEverywhere(@RequestHeader("X-Login-Id") String id) throws IOException, InterruptedException {
    operate("kickout", Map.of("user_id", id));
    return Map.of("id", id);
  }

  // Replace it: your program knows its users and their passwords.
  private static boolean isPassword(String text) {
    String demo = System.getenv("DEMO_PASSWORD");
    return demo != null && !demo.isEmpty() && text != null
        && MessageDigest.isEqual(text.getBytes(StandardCharsets.UTF_8), demo.getBytes(StandardCharsets.UTF_8));
  }

  private static final HttpClient CLIENT = HttpClient.newHttpClient();
  private static final ObjectMapper JSON = new ObjectMapper();

  /** One operation of the gateway on the sessions of consumers. */
  private static JsonNode operate(String operation, Map<String, String> body) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest
        .newBuilder(URI.create(System.getenv("INTERNAL_URL") + "/operations/v1/consumer/" + operation))
        .header("Authorization", "Bearer " + System.getenv("INTERNAL_SECRET"))
        .header("Content-Type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(JSON.writeValueAsString(body)))
        .build();
    JsonNode answer = JSON.readTree(CLIENT.send(request, HttpResponse.BodyHandlers.ofString()).body());
    if (answer.path("code").asInt() != 200) throw new IOException(operation + ": " + answer.path("message").asText());
    return answer.get("data");
  }

  @Component
  static class GatewayOnly extends OncePerRequestFilter {
    private static final List<String> KEYS = List.of(System.getenv("IDENTITY_KEYS").split(","));

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
        throws ServletException, IOException {
      if (isSigned(request)) chain.doFilter(request, response);
      else response.sendError(401, "this request did not come through the gateway");
    }

    /** Whether the gateway sent the request within the last minute. */
    static boolean isSigned(HttpServletRequest request) {
      String seconds = "";
      List<String> given = new ArrayList<>();
      for (String part : header(request, "Signature").split(",")) {
        if (part.startsWith("t=") && seconds.isEmpty()) seconds = part.substring(2);
        if (part.startsWith("v1=")) given.add(part.substring(3));
      }
      if (!seconds.matches("[0-9]{1,12}")) return false;
      if (Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(seconds)) > 60) return false;
      // getRequestURI() is the path as it arrived, without the query.
      String text = String.join(".", seconds, header(request, "Type"), header(request, "Id"), header(request, "Extra"),
          request.getMethod(), request.getRequestURI());
      for (String key : KEYS) {
        byte[] expected = HexFormat.of().formatHex(hmac(key, text)).getBytes(StandardCharsets.UTF_8);
        for (String signature : given)
          if (MessageDigest.isEqual(signature.getBytes(StandardCharsets.UTF_8), expected)) return true;
      }
      return false;
    }

    private static String header(HttpServletRequest request, String name) {
      String value = request.getHeader("X-Login-" + name);
      return value == null ? "" : value;
    }

    private static byte[] hmac(String key, String text) {
      try {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
        return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
      } catch (GeneralSecurityException fault) {
        throw new IllegalStateException(fault);
      }
    }
  }
}
